// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/sums.h"

#include <cmath>

#include "libsten/compute/calibrate/gram.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/core/base/error.h"

namespace sten {
namespace {

// A batch [rows, in] in float32.
struct Batch {
  explicit Batch(const Dense& x)
      : in(x.extents.back()),
        rows(in == 0 ? 0 : x.size() / in),
        values(as_dtype("calibrated pruning", x.values, DType::F32)) {}
  const float* data() const { return values.as<float>().data(); }

  Index in, rows;
  Values values;
};

// The matrix of sums, which are released.
Dense matrix_of(std::optional<ColumnProducts>& sums, Index n) {
  if (!sums) return {};
  Dense m = Dense::zeros(DType::F32, {n, n});
  sums->write(m.values.mutate<float>().data());
  sums.reset();
  return m;
}

}  // namespace

void InputSums::add(const Dense& x, const Dense& t) {
  if (x.extents.empty()) fail_usage("the input of a layer must have 1 or more axes, got a scalar");
  const Batch batch(x);
  sums_.samples += batch.rows;
  inputs_ = batch.in;
  if (!with_gram_) return add_squares(batch.rows, batch.in, batch.data());
  const auto sum = [&](std::optional<ColumnProducts>& sums, bool is_gram) -> ColumnProducts& {
    return sums ? *sums : sums.emplace(batch.in, is_gram);
  };
  const Columns inputs(batch.rows, batch.in, batch.data());
  sum(gram_, true).add(inputs, inputs);
  if (!with_targets_) return;
  const Batch of_dense(t);
  const Columns targets(of_dense.rows, of_dense.in, of_dense.data());
  sum(cross_, false).add(targets, inputs);
  if (with_target_gram_) sum(target_gram_, true).add(targets, targets);
}

void InputSums::add_squares(Index rows, Index in, const float* x) {
  sums_.squares.resize(in);
  for (Index r = 0; r < rows; ++r)
    for (Index j = 0; j < in; ++j)
      sums_.squares[j] += static_cast<double>(x[r * in + j]) * x[r * in + j];
}

InputStatistics InputSums::statistics() {
  sums_.gram = matrix_of(gram_, inputs_);
  sums_.cross = matrix_of(cross_, inputs_);
  return std::move(sums_);
}

Dense InputSums::target_gram() { return matrix_of(target_gram_, inputs_); }

double squares_of_outputs(const Tensor& w, const Dense& gram) {
  const Dense dense = w.to_dense();
  const int exponent = calibrate::scale_exponent(dense);
  const auto a = calibrate::matrix_of<float>(dense, exponent);
  return std::scalbn(calibrate::quadratic_trace(a, gram.values.as<float>().data()), 2 * exponent);
}

}  // namespace sten
