// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/sums.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "libsten/compute/calibrate/gram.h"
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/error.h"

namespace sten {
namespace {

// Copies columns [begin, end) of m [rows, cols].
std::vector<float> columns(const float* m, Index rows, Index cols, Index begin, Index end) {
  std::vector<float> part(rows * (end - begin));
  for (Index r = 0; r < rows; ++r)
    std::copy(m + r * cols + begin, m + r * cols + end, part.data() + r * (end - begin));
  return part;
}

// Adds a^T b, for a and b [rows, in]. By blocks of columns, so that the product needs little memory;
// with a = b, blocks below the diagonal are those above.
void add_product(Dense& to, Index rows, Index in, const float* a, const float* b) {
  constexpr Index block = 1024;
  if (to.size() == 0) to = Dense::zeros(DType::F32, {in, in});
  float* const sum = to.values.mutate<float>().data();
  std::vector<float> product;
  for (Index i = 0; i < in; i += block) {
    const Index m = std::min(block, in - i);
    const std::vector<float> left = columns(a, rows, in, i, i + m);
    for (Index j = a == b ? i : 0; j < in; j += block) {
      const Index n = std::min(block, in - j);
      const std::vector<float> right = columns(b, rows, in, j, j + n);
      product.resize(m * n);
      dense_transposed_gemm(m, n, rows, left.data(), right.data(), product.data());
      for (Index r = 0; r < m; ++r)
        for (Index c = 0; c < n; ++c) {
          sum[(i + r) * in + j + c] += product[r * n + c];
          if (a == b && i != j) sum[(j + c) * in + i + r] += product[r * n + c];
        }
    }
  }
}

}  // namespace

void InputSums::add(const Dense& x, const Dense& t) {
  if (x.extents.empty()) fail_usage("the input of a layer must have 1 or more axes, got a scalar");
  const Index in = x.extents.back();
  const calibrate::Matrix<float> seen = [&] {
    Dense flat = x;
    flat.extents = {in == 0 ? 0 : x.size() / in, in};
    return calibrate::matrix_of<float>(flat);
  }();
  sums_.samples += seen.rows;
  sums_.squares.resize(in);
  for (Index r = 0; r < seen.rows; ++r)
    for (Index j = 0; j < in; ++j)
      sums_.squares[j] += static_cast<double>(seen.row(r)[j]) * seen.row(r)[j];
  if (!gram_) return;
  add_product(sums_.gram, seen.rows, in, seen.values.data(), seen.values.data());
  if (!targets_) return;
  Dense flat = t;
  flat.extents = {seen.rows, in};
  const calibrate::Matrix<float> wanted = calibrate::matrix_of<float>(flat);
  add_product(sums_.cross, seen.rows, in, wanted.values.data(), seen.values.data());
  if (target_gram_) add_product(target_, seen.rows, in, wanted.values.data(), wanted.values.data());
}

double squares_of_outputs(const Tensor& w, const Dense& gram) {
  const Dense dense = w.to_dense();
  const int exponent = calibrate::scale_exponent(dense);
  const auto a = calibrate::matrix_of<float>(dense, exponent);
  return std::scalbn(calibrate::trace(a, gram.values.as<float>().data(), a), 2 * exponent);
}

}  // namespace sten
