// Tensors as a device's kernels see them (kernels/block/functions.h).
#pragma once
#include <optional>

#include "kernels/block/functions.h"
#include "libsten/base/cuda.h"
#include "libsten/base/floats.h"
#include "libsten/tensor/matrix_view.h"
#include "libsten/tensor/values.h"

namespace sten {

inline kernels::Elements elements_of(const Values& v) {
  return {v.bytes().data(), v.width(), v.size()};
}

// Nothing where there are more batch dimensions than kernels take.
std::optional<kernels::BlockMatrix> block_matrix(const MatrixView& view);

}  // namespace sten
