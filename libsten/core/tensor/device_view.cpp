// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/device_view.h"

namespace sten {

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
