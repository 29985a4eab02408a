// SPDX-License-Identifier: Apache-2.0
// Tensors in the types of device kernels (kernels/block/functions.h).
#pragma once
#include <optional>

#include "kernels/block/functions.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/base/floats.h"
#include "libsten/core/tensor/matrix_view.h"
#include "libsten/core/tensor/values.h"

namespace sten {

inline kernels::Elements elements_of(const Values& v) {
  return {v.bytes().data(), v.width(), v.size()};
}

// No value if the view has more batch dimensions than the kernels support.
std::optional<kernels::BlockMatrix> block_matrix(const MatrixView& view);

}  // namespace sten
