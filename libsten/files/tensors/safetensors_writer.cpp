// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/safetensors_writer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/tensors/safetensors_header.h"
#include "libsten/files/tensors/tensor_name.h"

namespace sten {
namespace {

// The alignment of the widest element, so that a map of the file can be read in place.
constexpr std::uint64_t alignment = 8;
std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Pages under writeback cannot be written until they are on the disk; so pages of small tensors are
// written back together.
constexpr std::uint64_t writeback_bytes = std::uint64_t{1} << 20;

std::string json_string(std::string_view text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail("{} is not UTF-8", quote(text.substr(0, 100)));
  }
}

}  // namespace

std::string safetensors_header_text(
    const std::vector<std::pair<std::string, std::string>>& metadata,
    const std::vector<SafetensorsEntry>& entries) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata)
      text += json_string(key) + ":" + json_string(value) + ",";
    text.back() = '}';
    text += ',';
  }
  for (const SafetensorsEntry& e : entries) {
    text += json_string(e.name) + ":{\"dtype\":\"";
    text += name_of(e.dtype);
    text += "\",\"shape\":[";
    for (std::size_t i = 0; i < e.shape.size(); ++i) {
      if (i > 0) text += ',';
      text += std::to_string(e.shape[i]);
    }
    text += fmt::format("],\"data_offsets\":[{},{}]}},", e.begin, e.end);
  }
  if (text.size() > 1) text.pop_back();
  return text + "}";
}

SafetensorsWriter::SafetensorsWriter(OutputFile& out, std::uint64_t header_bytes)
    : out_(out), room_(padded(header_bytes)) {
  assert(out.size() == 0);
}

void SafetensorsWriter::add(std::string name, DType dtype, Shape shape,
                            std::span<const std::byte> data) {
  assert(data.size() == byte_size(dtype, shape));
  out_.write_at(length_bytes + room_ + data_bytes_, data);
  append(std::move(name), dtype, std::move(shape), data.size());
}

void SafetensorsWriter::copy(std::string name, DType dtype, Shape shape, const MappedFile& file,
                             std::uint64_t offset) {
  const std::uint64_t bytes = byte_size(dtype, shape);
  out_.copy_at(length_bytes + room_ + data_bytes_, file, offset, bytes);
  append(std::move(name), dtype, std::move(shape), bytes);
}

// Refuses entries that a reader would refuse.
void SafetensorsWriter::append(std::string name, DType dtype, Shape shape, std::uint64_t bytes) {
  if (const std::string why = why_no_name(name); !why.empty())
    fail("{}: {}: {}", out_.name(), quote(name), why);
  if (shape.size() > max_rank)
    fail("{}: {}: expected at most {} dimensions, got {}", out_.name(), quote(name), max_rank,
         shape.size());
  if (entries_.size() == max_entries)
    fail("{}: expected at most {} tensors", out_.name(), max_entries);
  const std::uint64_t begin = length_bytes + room_ + data_bytes_;
  const std::uint64_t from = begin / writeback_bytes, to = (begin + bytes) / writeback_bytes;
  if (from < to) out_.start_writeback(from * writeback_bytes, (to - from) * writeback_bytes);
  entries_.push_back({std::move(name), dtype, std::move(shape), data_bytes_, data_bytes_ + bytes});
  data_bytes_ += bytes;
}

void SafetensorsWriter::finish(const std::vector<std::pair<std::string, std::string>>& metadata,
                               const std::vector<std::string>& header_order) {
  std::map<std::string_view, const SafetensorsEntry*> by_name;
  for (const SafetensorsEntry& e : entries_)
    if (!by_name.emplace(e.name, &e).second)
      fail("{}: duplicate tensor name {}", out_.name(), quote(e.name));
  assert(header_order.size() == entries_.size());
  std::vector<SafetensorsEntry> ordered;
  for (const std::string& name : header_order) {
    assert(by_name.contains(name));
    ordered.push_back(*by_name.find(name)->second);
  }

  std::string text = safetensors_header_text(metadata, ordered);
  if (text.size() > room_) move_data(padded(text.size()));
  if (room_ > max_header_bytes)
    fail("{}: header: expected at most {} bytes, got {}", out_.name(), max_header_bytes, room_);
  text.resize(room_, ' ');
  std::array<std::byte, length_bytes> length;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length[i] = static_cast<std::byte>(room_ >> 8 * i & 0xff);
  out_.write_at(0, length);
  out_.write_at(length_bytes, std::as_bytes(std::span(text)));
}

// Moves the data to make room for a longer header, from the end, so that unread data are not
// overwritten.
void SafetensorsWriter::move_data(std::uint64_t room) {
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (std::uint64_t left = data_bytes_; left > 0;) {
    const auto piece = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), left));
    left -= piece.size();
    out_.read_at(length_bytes + room_ + left, piece);
    out_.write_at(length_bytes + room + left, piece);
  }
  room_ = room;
}

}  // namespace sten
