// SPDX-License-Identifier: Apache-2.0
// Arguments of device kernels that refer to tensors in host memory.
#pragma once
#include "libsten/core/tensor/device_view.h"

namespace sten::testing {

inline kernels::FloatKind kind_of(DType t) { return float_kind(t); }
inline kernels::BlockMatrix matrix_of(const MatrixView& view) { return *block_matrix(view); }

}  // namespace sten::testing
