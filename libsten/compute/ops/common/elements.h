// SPDX-License-Identifier: Apache-2.0
// Conversion of elements between dtypes, and the dtype of computation.
#pragma once
#include <string_view>

#include "libsten/core/base/parallel.h"
#include "libsten/core/dispatch/operators.h"

namespace sten {

// Casts between BOOL, integers of 8 to 64 bits, F16, BF16, F32 and F64. Error (usage) for other
// dtypes. Floats round to nearest even; a float becomes an integer towards zero, saturated to 64
// bits, and NaN becomes 0; integers keep their lowest bits. BOOL tells whether a number is nonzero.
// Returns x itself for its own dtype.
Values as_dtype(std::string_view op, const Values& x, DType to);

// The dtype of computation: F32 for F16, BF16 and F32; F64; I64 for integers and BOOL. Error
// (usage) for others.
DType computed_in(std::string_view op, DType dtype);
// Casts x to a dtype of computed_in(). Error (usage) for U64 values that exceed I64.
Dense to_compute(std::string_view op, const Dense& x, DType in);
// Calls f(T{}) for such a dtype.
template <class F>
decltype(auto) with_computed(DType in, F&& f) {
  if (in == DType::I64) return f(std::int64_t{});
  if (in == DType::F64) return f(double{});
  return f(float{});
}

// A table's entry for each of these types: K<T> for T.
template <template <class> class K>
struct ByType {
  K<float> f32;
  K<double> f64;
  K<std::int64_t> i64 = {};

  template <class T>
  const K<T>& of() const {
    if constexpr (std::same_as<T, float>)
      return f32;
    else if constexpr (std::same_as<T, double>)
      return f64;
    else
      return i64;
  }
};

// A dense tensor whose elements `fill(begin, end, T* to)` computes on threads(). T: a type of the
// dtype's width. For floats in other formats see write_elements().
template <class T, class F>
Dense dense_elements(DType dtype, Shape shape, F&& fill) {
  const Index n = size_of(shape);
  Dense y{std::move(shape), Values::uninitialized(dtype, n)};
  T* to = y.values.mutate<T>().data();
  parallel_for(n, Index{1} << 14, [&](Index begin, Index end) { fill(begin, end, to + begin); });
  return y;
}

}  // namespace sten
