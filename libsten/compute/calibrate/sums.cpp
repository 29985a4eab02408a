// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/sums.h"

#include <cmath>

#include "libsten/compute/calibrate/gram.h"
#include "libsten/compute/linalg/gram_product.h"
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

float* sums_of(Dense& to, Index in) {
  if (to.size() == 0) to = Dense::zeros(DType::F32, {in, in});
  return to.values.mutate<float>().data();
}

void add_gram_of(const Batch& x, Dense& to) { add_gram(x.rows, x.in, x.data(), sums_of(to, x.in)); }

Dense mirrored(Dense gram) {
  if (gram.size() > 0) mirror_gram(gram.extents[0], gram.values.mutate<float>().data());
  return gram;
}

}  // namespace

void InputSums::add(const Dense& x, const Dense& t) {
  if (x.extents.empty()) fail_usage("the input of a layer must have 1 or more axes, got a scalar");
  const Batch seen(x);
  sums_.samples += seen.rows;
  sums_.squares.resize(seen.in);
  for (Index r = 0; r < seen.rows; ++r) {
    const float* const row = seen.data() + r * seen.in;
    for (Index j = 0; j < seen.in; ++j) sums_.squares[j] += static_cast<double>(row[j]) * row[j];
  }
  if (!gram_) return;
  add_gram_of(seen, sums_.gram);
  if (!targets_) return;
  const Batch wanted(t);
  add_cross_product(seen.rows, seen.in, wanted.data(), seen.data(), sums_of(sums_.cross, seen.in));
  if (target_gram_) add_gram_of(wanted, target_);
}

InputStatistics InputSums::statistics() {
  sums_.gram = mirrored(std::move(sums_.gram));
  return std::move(sums_);
}

Dense InputSums::target_gram() { return mirrored(std::move(target_)); }

double squares_of_outputs(const Tensor& w, const Dense& gram) {
  const Dense dense = w.to_dense();
  const int exponent = calibrate::scale_exponent(dense);
  const auto a = calibrate::matrix_of<float>(dense, exponent);
  return std::scalbn(calibrate::quadratic_trace(a, gram.values.as<float>().data()), 2 * exponent);
}

}  // namespace sten
