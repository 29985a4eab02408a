// NumPy's .npy files: one array behind a header that is a Python dict.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "libsten/base/dtype.h"
#include "libsten/base/shape.h"

namespace sten {

struct NpyHeader {
  DType dtype = DType::F32;
  Shape shape;
  bool fortran_order = false;     // the first index varies fastest
  std::uint64_t data_offset = 0;  // of the elements in the file; of any alignment
};

// What NumPy itself reads unless told otherwise.
inline constexpr std::uint64_t max_npy_header_bytes = 10'000;

// Whether the file begins as .npy files do.
bool is_npy(std::span<const std::byte> file);

// Reads the header of `file`, which messages call `file_name`; versions 1.0, 2.0 and 3.0. What
// comes back holds: the elements are the rest of the file, as many bytes as shape and dtype need.
NpyHeader parse_npy(std::span<const std::byte> file, const std::string& file_name);

// What NumPy writes before the elements of an array in row-major order, byte for byte. Error
// (usage) for a dtype that it does not have, such as BF16.
std::string npy_header(DType dtype, const Shape& shape);

}  // namespace sten
