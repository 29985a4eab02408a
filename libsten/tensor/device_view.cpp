#include "libsten/tensor/device_view.h"

namespace sten {

kernels::FloatKind float_kind(DType dtype) {
  using enum kernels::FloatKind;
  switch (dtype) {
    case DType::F64:
      return f64;
    case DType::F16:
      return f16;
    case DType::BF16:
      return bf16;
    case DType::F8_E4M3:
      return f8_e4m3;
    case DType::F8_E5M2:
      return f8_e5m2;
    default:
      return f32;
  }
}

std::optional<kernels::BlockMatrix> block_matrix(const MatrixView& view) {
  kernels::BlockMatrix m;
  if (view.batch.size() > std::size_t{kernels::BlockMatrix::most_dims}) return std::nullopt;
  for (std::size_t d = 0; d < view.batch.size(); ++d) {
    m.extent[d] = view.batch[d];
    m.stride[d] = view.batch_strides[d];
  }
  m.dims = static_cast<int>(view.batch.size());
  m.batches = view.batches;
  m.rows = view.rows;
  m.cols = view.cols;
  m.row_stride = view.row_stride;
  m.col_stride = view.col_stride;
  return m;
}

}  // namespace sten
