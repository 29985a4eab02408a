// The header of a safetensors file, read with everything checked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libsten/base/dtype.h"
#include "libsten/base/shape.h"

namespace sten {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // bytes within the data section
};

struct SafetensorsHeader {
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<SafetensorsEntry> entries;  // in the header's order
  std::uint64_t data_offset = 0;          // of the data section in the file
};

// What the format's own library reads, so that what we write can be read elsewhere.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;
// NumPy and PyTorch stop at 32 and 64 dimensions.
inline constexpr std::size_t max_rank = 32;

// Reads `file`, which messages call `file_name`. Error says which tensor and which numbers. What
// comes back holds: names are unique and printable, every entry's bytes are as many as its shape
// and dtype need, and the entries tile the data section without hole or overlap.
SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& file_name);

// Bytes of a tensor; Error where they are not whole or do not fit 62 bits.
std::uint64_t byte_size(DType dtype, const Shape& shape);

}  // namespace sten
