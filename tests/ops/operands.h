// SPDX-License-Identifier: Apache-2.0
// Operands and results of operators.
#pragma once
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "libsten/core/tensor/tensor.h"
#include "tests/support/tensors.h"

namespace sten::testing {

inline Tensor tensor(Shape extents, const std::vector<float>& v) {
  return f32(std::move(extents), v);
}
inline Tensor int64s(Shape extents, const std::vector<std::int64_t>& v) {
  Dense x = Dense::zeros(DType::I64, std::move(extents));
  std::ranges::copy(v, x.values.mutate<std::int64_t>().begin());
  return x;
}
inline Tensor int64s(const std::vector<std::int64_t>& v) { return int64s({std::ssize(v)}, v); }
// 0, 1, 2, ...
inline Tensor rising(Shape extents) {
  std::vector<float> v(size_of(extents));
  std::iota(v.begin(), v.end(), 0.0f);
  return tensor(std::move(extents), v);
}

inline bool is(const Tensor& x, const Tensor& wanted) {
  return same_bits(x.to_dense(), wanted.to_dense());
}
inline bool is(const Tensor& x, Shape extents, const std::vector<float>& v) {
  return is(x, tensor(std::move(extents), v));
}

}  // namespace sten::testing
