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

// The array, in a copy, of U8, I8, I16, I32, F32 or F64. Error where the beginning is another, the
// type is not known, or the elements are not as many bytes as the extents need.
Dense parse_idx(std::span<const std::byte> file, const std::string& file_name);

}  // namespace sten
