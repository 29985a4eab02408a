// Tensors as kernels over blocks see them, in the host's memory.
#pragma once
#include "kernels/block/functions.h"
#include "libsten/tensor/matrix_view.h"
#include "libsten/tensor/values.h"

namespace sten::testing {

inline kernels::FloatKind kind_of(DType t) {
  return t == DType::F64       ? kernels::FloatKind::f64
         : t == DType::F16     ? kernels::FloatKind::f16
         : t == DType::BF16    ? kernels::FloatKind::bf16
         : t == DType::F8_E4M3 ? kernels::FloatKind::f8_e4m3
         : t == DType::F8_E5M2 ? kernels::FloatKind::f8_e5m2
                               : kernels::FloatKind::f32;
}

inline kernels::BlockMatrix matrix_of(const MatrixView& view) {
  kernels::BlockMatrix m;
  m.dims = static_cast<int>(view.batch.size());
  for (std::size_t d = 0; d < view.batch.size(); ++d) {
    m.extent[d] = view.batch[d];
    m.stride[d] = view.batch_strides[d];
  }
  m.batches = view.batches, m.rows = view.rows, m.cols = view.cols;
  m.row_stride = view.row_stride, m.col_stride = view.col_stride;
  return m;
}

inline kernels::Elements elements_of(const Values& v) {
  return {v.bytes().data(), static_cast<int>(v.width()), v.size()};
}

}  // namespace sten::testing
