// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: an array after a header that is a Python dict.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "libsten/core/base/dtype.h"
#include "libsten/core/base/shape.h"

namespace sten {

struct NpyHeader {
  DType dtype = DType::F32;
  Shape shape;
  bool fortran_order = false;     // the first index varies fastest
  std::uint64_t data_offset = 0;  // of the elements in the file; may be unaligned
};

// NumPy's default limit.
inline constexpr std::uint64_t max_npy_header_bytes = 10'000;

// Whether the file starts with the magic string of .npy.
bool is_npy(std::span<const std::byte> file);

// Parses the header of `file`, versions 1.0, 2.0 and 3.0. `file_name` is for messages. Checks that
// the elements fill the rest of the file exactly. Error for an invalid header.
NpyHeader parse_npy(std::span<const std::byte> file, const std::string& file_name);

// The bytes that NumPy writes before the elements of a row-major array. Error (usage) for dtypes
// that NumPy lacks, such as BF16.
std::string npy_header(DType dtype, const Shape& shape);

}  // namespace sten
