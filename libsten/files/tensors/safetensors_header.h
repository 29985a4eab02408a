// SPDX-License-Identifier: Apache-2.0
// Parser of the JSON text of a safetensors file.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/core/base/dtype.h"
#include "libsten/core/base/shape.h"

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

// The first bytes of a file: the length of the JSON text, little-endian.
inline constexpr std::uint64_t length_bytes = 8;
// NumPy and PyTorch allow 32 and 64 dimensions.
inline constexpr std::size_t max_rank = 32;

// Parses the text. Checks its form, names and dtypes, but not offsets. `file`: printable; starts
// messages.
SafetensorsHeader read_header_text(std::string_view json, const std::string& file);

// A quoted name for messages: printable, and at most a line long.
std::string shown(std::string_view name);

}  // namespace sten
