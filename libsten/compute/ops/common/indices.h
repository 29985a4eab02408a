// SPDX-License-Identifier: Apache-2.0
// Indices of rows and classes.
#pragma once
#include <string_view>
#include <vector>

#include "libsten/core/tensor/dense.h"

namespace sten {

// The elements of an I64 or I32 tensor; waits for a device. Error (usage) for other dtypes:
// "embedding: ids are F32, not I64 or I32".
std::vector<Index> integers_of(std::string_view op, std::string_view name, const Dense& x);
// The position of element i in a tensor of that shape: "[1, 2]".
std::string index_text(Index i, const Shape& shape);

}  // namespace sten
