// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/gguf_writer.h"

#include <cassert>
#include <cstring>

namespace sten {
namespace {

template <class T>
void append(std::string& to, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));  // little-endian, as all supported machines
  to.append(bytes, sizeof(T));
}

void append_text(std::string& to, std::string_view text) {
  append(to, std::uint64_t{text.size()});
  to += text;
}

std::uint64_t aligned(std::uint64_t at) {
  return (at + gguf_default_alignment - 1) / gguf_default_alignment * gguf_default_alignment;
}

}  // namespace

void GgufMetadata::start(std::string_view key, GgufKind kind) {
  append_text(bytes_, key);
  append(bytes_, static_cast<std::uint32_t>(kind));
  ++count_;
}

void GgufMetadata::start_array(std::string_view key, GgufKind element, std::size_t count) {
  start(key, GgufKind::array);
  append(bytes_, static_cast<std::uint32_t>(element));
  append(bytes_, std::uint64_t{count});
}

void GgufMetadata::add(std::string_view key, std::uint32_t value) {
  start(key, GgufKind::u32);
  append(bytes_, value);
}
void GgufMetadata::add(std::string_view key, float value) {
  start(key, GgufKind::f32);
  append(bytes_, value);
}
void GgufMetadata::add(std::string_view key, bool value) {
  start(key, GgufKind::boolean);
  append(bytes_, static_cast<std::uint8_t>(value));
}
void GgufMetadata::add(std::string_view key, std::string_view value) {
  start(key, GgufKind::text);
  append_text(bytes_, value);
}
void GgufMetadata::add(std::string_view key, const std::vector<std::string>& values) {
  start_array(key, GgufKind::text, values.size());
  for (const std::string& v : values) append_text(bytes_, v);
}
void GgufMetadata::add(std::string_view key, const std::vector<std::int32_t>& values) {
  start_array(key, GgufKind::i32, values.size());
  for (const std::int32_t v : values) append(bytes_, v);
}
void GgufMetadata::add(std::string_view key, const std::vector<float>& values) {
  start_array(key, GgufKind::f32, values.size());
  for (const float v : values) append(bytes_, v);
}
void GgufMetadata::add(std::string_view key, const std::vector<bool>& values) {
  start_array(key, GgufKind::boolean, values.size());
  for (const bool v : values) append(bytes_, static_cast<std::uint8_t>(v));
}
void GgufMetadata::add(std::string_view key, const GgufValue& value) {
  if (value.kind == GgufKind::array)
    start_array(key, value.element, value.count);
  else
    start(key, value.kind);
  bytes_.append(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
}

std::string gguf_header(const GgufMetadata& metadata, std::vector<GgufTensor>& tensors) {
  std::string header = "GGUF";
  append(header, std::uint32_t{3});
  append(header, std::uint64_t{tensors.size()});
  append(header, metadata.count());
  header += metadata.bytes();
  std::uint64_t offset = 0;
  for (GgufTensor& t : tensors) {
    append_text(header, t.name);
    append(header, static_cast<std::uint32_t>(t.shape.size()));
    for (std::size_t d = t.shape.size(); d-- > 0;)
      append(header, static_cast<std::uint64_t>(t.shape[d]));
    append(header, t.type->number);
    append(header, offset);
    const auto elements = static_cast<std::uint64_t>(size_of(t.shape));
    assert(elements % t.type->elements == 0);
    t.begin = offset;
    t.end = offset + elements / t.type->elements * t.type->bytes;
    offset = aligned(t.end);
  }
  header.resize(aligned(header.size()));
  for (GgufTensor& t : tensors) t.begin += header.size(), t.end += header.size();
  return header;
}

}  // namespace sten
