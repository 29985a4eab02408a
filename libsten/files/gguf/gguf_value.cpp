// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/gguf_value.h"

namespace sten {
namespace {

std::optional<double> decoded_number(GgufKind kind, const std::byte* at) {
  switch (kind) {
    case GgufKind::f32:
      return gguf_number_at<float>(at);
    case GgufKind::f64:
      return gguf_number_at<double>(at);
    case GgufKind::u64:
      return static_cast<double>(gguf_number_at<std::uint64_t>(at));
    case GgufKind::boolean:
      return gguf_number_at<std::uint8_t>(at) ? 1 : 0;
    default:
      break;
  }
  const GgufValue value{kind, GgufKind::u8, 0, {at, width_of(kind)}};
  if (const auto integer = value.integer()) return static_cast<double>(*integer);
  return std::nullopt;
}

}  // namespace

std::uint64_t width_of(GgufKind kind) {
  constexpr std::uint8_t widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return widths[static_cast<std::size_t>(kind)];
}

std::optional<std::int64_t> GgufValue::integer() const {
  const std::byte* at = bytes.data();
  switch (kind) {
    case GgufKind::u8:
      return gguf_number_at<std::uint8_t>(at);
    case GgufKind::i8:
      return gguf_number_at<std::int8_t>(at);
    case GgufKind::u16:
      return gguf_number_at<std::uint16_t>(at);
    case GgufKind::i16:
      return gguf_number_at<std::int16_t>(at);
    case GgufKind::u32:
      return gguf_number_at<std::uint32_t>(at);
    case GgufKind::i32:
      return gguf_number_at<std::int32_t>(at);
    case GgufKind::u64: {
      const auto value = gguf_number_at<std::uint64_t>(at);
      if (value >> 63) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    case GgufKind::i64:
      return gguf_number_at<std::int64_t>(at);
    default:
      return std::nullopt;
  }
}

std::optional<double> GgufValue::real() const {
  if (kind == GgufKind::text || kind == GgufKind::array || kind == GgufKind::boolean)
    return std::nullopt;
  return decoded_number(kind, bytes.data());
}

std::optional<bool> GgufValue::boolean() const {
  if (kind != GgufKind::boolean) return std::nullopt;
  return bytes.front() == std::byte{1};
}

std::optional<std::string_view> GgufValue::text() const {
  if (kind != GgufKind::text) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(bytes.data()) + 8, bytes.size() - 8);
}

std::vector<std::string_view> GgufValue::texts() const {
  std::vector<std::string_view> all;
  if (kind != GgufKind::array || element != GgufKind::text) return all;
  all.reserve(count);
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = gguf_number_at<std::uint64_t>(bytes.data() + at);
    all.emplace_back(reinterpret_cast<const char*>(bytes.data()) + at + 8, length);
    at += 8 + length;
  }
  return all;
}

std::vector<double> GgufValue::reals() const {
  std::vector<double> all;
  const std::uint64_t width = kind == GgufKind::array ? width_of(element) : 0;
  for (std::uint64_t i = 0; width > 0 && i < count; ++i)
    if (const auto value = decoded_number(element, bytes.data() + i * width)) all.push_back(*value);
  return all;
}

}  // namespace sten
