// Reader of safetensors headers, with complete checks.
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
  std::uint64_t begin = 0, end = 0;  // range in the data section
};

struct SafetensorsHeader {
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<SafetensorsEntry> entries;  // in the header's order
  std::uint64_t data_offset = 0;          // of the data section in the file
};

// The limit of the safetensors library, which must be able to read our files.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;
// NumPy and PyTorch allow 32 and 64 dimensions.
inline constexpr std::size_t max_rank = 32;

// Parses the header of `file`; `file_name` is for messages. Checks that names are unique and
// printable, that the bytes of each entry fit its shape and dtype, and that the entries tile the
// data section without gaps or overlaps. Error with the tensor and the numbers.
SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& file_name);

// The bytes of a tensor. Error if they are not whole, or exceed 62 bits.
std::uint64_t byte_size(DType dtype, const Shape& shape);

}  // namespace sten
