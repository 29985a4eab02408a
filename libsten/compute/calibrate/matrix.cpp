// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/matrix.h"

#include <cmath>

#include "libsten/compute/ops/common/elements.h"
#include "libsten/core/base/floats.h"

namespace sten::calibrate {

int scale_exponent(double largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return 0;
  const int k = std::ilogb(largest);
  return k >= -20 && k < 20 ? 0 : k & ~1;
}

int scale_exponent(const Dense& x) {
  double largest = 0;
  with_float(x.dtype(), [&]<class E>(E) {
    for (const auto bits : x.values.as<typename E::Bits>())
      largest = std::max(largest, std::abs(static_cast<double>(E::decode(bits))));
  });
  return scale_exponent(largest);
}

template <class T>
Matrix<T> matrix_of(const Dense& w, int exponent) {
  const Index rows = w.extents.empty() ? 1 : w.extents[0];
  Matrix<T> a(rows, rows == 0 ? 0 : w.size() / rows);
  with_float(w.dtype(), [&]<class E>(E) {
    const auto bits = w.values.as<typename E::Bits>();
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const double v = E::decode(bits[i]);
      a.values[i] = static_cast<T>(exponent == 0 ? v : std::scalbn(v, -exponent));
    }
  });
  return a;
}

template <class T>
Matrix<T> transposed(const Matrix<T>& a) {
  Matrix<T> t(a.cols, a.rows);
  parallel_for(a.cols, row_block, [&](Index begin, Index end) {
    for (Index r = 0; r < a.rows; ++r)
      for (Index c = begin; c < end; ++c) t.row(c)[r] = a.row(r)[c];
  });
  return t;
}

template <class T>
Dense to_dense(const Matrix<T>& a, DType dtype, const Shape& shape, int exponent) {
  Values values = Values::uninitialized(dtype_of<T>, a.rows * a.cols);
  std::ranges::copy(a.values, values.mutate<T>().begin());
  if (exponent != 0)
    for (T& v : values.mutate<T>()) v = std::scalbn(v, exponent);
  return {shape, as_dtype("calibrated pruning", values, dtype)};
}

template Matrix<float> matrix_of(const Dense&, int);
template Matrix<double> matrix_of(const Dense&, int);
template Matrix<float> transposed(const Matrix<float>&);
template Matrix<double> transposed(const Matrix<double>&);
template Dense to_dense(const Matrix<float>&, DType, const Shape&, int);
template Dense to_dense(const Matrix<double>&, DType, const Shape&, int);

}  // namespace sten::calibrate
