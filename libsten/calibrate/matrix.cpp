#include "libsten/calibrate/matrix.h"

#include "libsten/ops/elements.h"

namespace sten::calibrate {

Matrix matrix_of(const Dense& w) {
  const Index rows = w.extents.empty() ? 1 : w.extents[0];
  Matrix a(rows, rows == 0 ? 0 : w.size() / rows);
  const Values values = as_dtype("calibrated pruning", w.values, DType::F32);
  std::ranges::copy(values.as<float>(), a.values.begin());
  return a;
}

Matrix transposed(const Matrix& a) {
  Matrix t(a.cols, a.rows);
  parallel_for(a.cols, row_block, [&](Index begin, Index end) {
    for (Index r = 0; r < a.rows; ++r)
      for (Index c = begin; c < end; ++c) t.row(c)[r] = a.row(r)[c];
  });
  return t;
}

Dense to_dense(const Matrix& a, DType dtype, const Shape& shape) {
  Values values = Values::uninitialized(DType::F32, a.rows * a.cols);
  std::ranges::copy(a.values, values.mutate<float>().begin());
  return {shape, as_dtype("calibrated pruning", values, dtype)};
}

}  // namespace sten::calibrate
