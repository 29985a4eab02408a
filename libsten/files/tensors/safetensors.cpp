// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/safetensors.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/file_kind.h"
#include "libsten/files/tensors/safetensors_header.h"

namespace sten {
namespace {

// The JSON text, if the file is as long as its first 8 bytes say.
std::string_view header_text(std::span<const std::byte> file, const std::string& name) {
  if (file.empty()) fail("{}: is empty", name);
  std::uint64_t length = 0;  // little-endian
  for (std::size_t i = std::min<std::size_t>(length_bytes, file.size()); i-- > 0;)
    length = length << 8 | std::to_integer<std::uint64_t>(file[i]);

  const bool too_short = file.size() < length_bytes;
  const bool past_end = !too_short && length > file.size() - length_bytes;
  const std::string_view text =
      too_short || past_end
          ? std::string_view()
          : std::string_view(reinterpret_cast<const char*>(file.data()) + length_bytes, length);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos || text[first] != '{') {
    if (const std::string_view kind = foreign_kind(file); !kind.empty())
      fail("{}: is {}, not a safetensors file", name, kind);
  }
  if (too_short) fail("{}: has {} bytes, too few for a safetensors file", name, file.size());
  if (length == 0) fail("{}: header length is 0", name);
  if (length > max_header_bytes)
    fail("{}: header length: expected at most {} bytes, got {}", name, max_header_bytes, length);
  if (past_end)
    fail("{}: header length is {} bytes, only {} follow (is the file truncated?)", name, length,
         file.size() - length_bytes);
  return text;
}

void check_sizes(const std::vector<SafetensorsEntry>& entries, std::uint64_t data,
                 const std::string& file) {
  for (const SafetensorsEntry& e : entries) {
    const auto bad = [&](const std::string& what) {
      fail("{}: {}: {}", file, shown(e.name), what);
    };
    if (e.begin > e.end) bad(fmt::format("data begin at {} and end at {}", e.begin, e.end));
    std::uint64_t bytes = 0;
    try {
      bytes = byte_size(e.dtype, e.shape);
    } catch (const Error& error) {
      bad(error.what());
    }
    if (bytes != e.end - e.begin)
      bad(fmt::format("shape says {} bytes, offsets say {}", bytes, e.end - e.begin));
    if (e.end > data)
      bad(fmt::format("ends at byte {} of {} bytes of data (is the file truncated?)", e.end, data));
  }
}

// Checks that each byte of the data section belongs to exactly one entry.
void check_tiling(const std::vector<SafetensorsEntry>& entries, std::uint64_t data,
                  const std::string& file) {
  std::vector<std::uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t i) { return std::pair(entries[i].begin, entries[i].end); };
    return key(a) != key(b) ? key(a) < key(b) : a < b;
  });
  const SafetensorsEntry* last = nullptr;
  for (std::uint32_t i : order) {
    const SafetensorsEntry& e = entries[i];
    if (!last) {
      if (e.begin != 0)
        fail("{}: {}: expected the first tensor at byte 0 of the data, got byte {}", file,
             shown(e.name), e.begin);
    } else if (e.begin < last->end) {
      fail("{}: {} and {} overlap: one ends at byte {}, the other begins at byte {}", file,
           shown(last->name), shown(e.name), last->end, e.begin);
    } else if (e.begin > last->end) {
      fail("{}: bytes {} to {} of the data, between {} and {}, belong to no tensor", file,
           last->end, e.begin, shown(last->name), shown(e.name));
    }
    last = &e;
  }
  const std::uint64_t end = last ? last->end : 0;
  if (end != data)
    fail("{}: {} bytes follow the data of {}", file, data - end,
         last ? "the last tensor, " + shown(last->name) : "a header without tensors");
}

}  // namespace

SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& file_name) {
  const std::string name = printable(file_name);
  const std::string_view text = header_text(file, name);
  SafetensorsHeader header = read_header_text(text, name);
  header.data_offset = length_bytes + text.size();
  const std::uint64_t data = file.size() - header.data_offset;
  check_sizes(header.entries, data, name);
  check_tiling(header.entries, data, name);
  return header;
}

std::uint64_t byte_size(DType dtype, const Shape& shape) {
  const Index elements = checked_size(shape);
  Shape extents = shape;
  std::erase(extents, 0);
  const int bits = bits_of(dtype);
  if (size_of(extents) > (Index{1} << 62) / bits)
    fail("shape {} of {}: expected at most 2^62 bits", to_string(shape), name_of(dtype));
  if (elements * bits % 8 != 0)
    fail("{} elements of {} have {} bits: expected whole bytes", elements, name_of(dtype),
         elements * bits);
  return static_cast<std::uint64_t>(elements * bits / 8);
}

}  // namespace sten
