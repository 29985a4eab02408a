// SPDX-License-Identifier: Apache-2.0
// idx files, the format of MNIST: 0 0 TYPE RANK, then RANK extents of 4 bytes and the elements, all
// big-endian (http://yann.lecun.com/exdb/mnist).
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "libsten/core/tensor/dense.h"

namespace sten {

// Whether the file starts as idx files do.
bool is_idx(std::span<const std::byte> file);

// Parses a copy of the array, U8, I8, I16, I32, F32 or F64. Error for another start, an unknown
// type, or a size that does not match the extents.
Dense parse_idx(std::span<const std::byte> file, const std::string& file_name);

}  // namespace sten
