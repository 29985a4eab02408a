// idx files, the format of MNIST: 0 0 TYPE RANK, then RANK extents of 4 bytes and the elements, all
// big-endian (http://yann.lecun.com/exdb/mnist).
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "libsten/tensor/dense.h"

namespace sten {

// Whether the file begins as idx files do.
bool is_idx(std::span<const std::byte> file);

// A copy of the array, of U8, I8, I16, I32, F32 or F64. Error if the file begins in another way,
// the type is unknown, or the elements do not have as many bytes as the extents need.
Dense parse_idx(std::span<const std::byte> file, const std::string& file_name);

}  // namespace sten
