// SPDX-License-Identifier: Apache-2.0
// Tensors of higher rank as matrices.
#pragma once
#include "libsten/core/tensor/tensor.h"

namespace sten {

// t as the matrix [first extent, product of the others], sharing its parts; t itself if its rank is
// 2. The matrix is cached with t, so that values derived from it are reused. Unsupported, an Error
// (usage), for layouts of users and layouts with dims.
const Tensor& as_matrix(const Tensor& t);

}  // namespace sten
