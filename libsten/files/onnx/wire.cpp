// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/onnx/wire.h"

#include <algorithm>
#include <cstring>

#include "libsten/core/base/error.h"

namespace sten {

void WireFile::broken(const std::byte* at, const std::string& why) const {
  fail("{}: byte {}: {}", name, at - bytes.data(), why);
}

bool take_varint(ByteRange& from, std::uint64_t& value) {
  std::uint64_t v = 0;
  const std::size_t most = std::min<std::size_t>(from.size(), 10);
  for (std::size_t i = 0; i < most; ++i) {
    const auto b = std::to_integer<std::uint64_t>(from[i]);
    if (i == 9 && b > 1) return false;
    v |= (b & 0x7f) << (7 * i);
    if (b & 0x80) continue;
    value = v;
    from = from.subspan(i + 1);
    return true;
  }
  return false;
}

void WireMessage::broken(const std::string& why) const { file_->broken(at_, why); }

bool WireMessage::next() {
  if (rest_.empty()) return false;
  at_ = rest_.data();
  std::uint64_t tag = 0;
  if (!take_varint(rest_, tag)) broken("a field's number is cut off or too long");
  if (tag >> 3 == 0 || tag >> 32 != 0) broken(fmt::format("invalid field number {}", tag >> 3));
  number_ = static_cast<std::uint32_t>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7);
  switch (tag & 7) {
    case 0: {
      const std::byte* const start = rest_.data();
      std::uint64_t ignored = 0;
      if (!take_varint(rest_, ignored))
        broken(fmt::format("the number in field {} is cut off or too long", number_));
      value_ = {start, rest_.data()};
      return true;
    }
    case 1:
      value_ = take(8);
      return true;
    case 2: {
      std::uint64_t length = 0;
      if (!take_varint(rest_, length))
        broken(fmt::format("the length of field {} is cut off or too long", number_));
      value_ = take(length);
      return true;
    }
    case 5:
      value_ = take(4);
      return true;
    case 3:
    case 4:
      broken(fmt::format("field {} is a group, which ONNX does not have", number_));
    default:
      broken(fmt::format("field {} has wire type {}", number_, tag & 7));
  }
}

ByteRange WireMessage::take(std::uint64_t n) {
  if (n > rest_.size())
    broken(fmt::format("field {} has {} bytes, {} are left", number_, n, rest_.size()));
  const ByteRange taken = rest_.first(n);
  rest_ = rest_.subspan(n);
  return taken;
}

void WireMessage::want(WireType type) const {
  if (type_ != type)
    broken(fmt::format("field {} has wire type {}, not {}", number_, static_cast<int>(type_),
                       static_cast<int>(type)));
}

std::uint64_t WireMessage::varint() const {
  want(WireType::varint);
  ByteRange from = value_;
  std::uint64_t v = 0;
  (void)take_varint(from, v);  // next() has read it already
  return v;
}

float WireMessage::float32() const {
  want(WireType::fixed32);
  float v = 0;
  std::memcpy(&v, value_.data(), sizeof(v));
  return v;
}

ByteRange WireMessage::bytes() const {
  want(WireType::bytes);
  return value_;
}

std::string_view WireMessage::text() const {
  want(WireType::bytes);
  return {reinterpret_cast<const char*>(value_.data()), value_.size()};
}

void WireMessage::add_to(std::vector<std::int64_t>& integers) const {
  if (type_ == WireType::varint) {
    integers.push_back(integer());
    return;
  }
  want(WireType::bytes);
  for (ByteRange from = value_; !from.empty();) {
    std::uint64_t v = 0;
    if (!take_varint(from, v)) broken(fmt::format("field {} ends within a number", number_));
    integers.push_back(static_cast<std::int64_t>(v));
  }
}

void WireMessage::add_to(std::vector<float>& floats) const {
  if (type_ == WireType::fixed32) {
    floats.push_back(float32());
    return;
  }
  want(WireType::bytes);
  if (value_.size() % sizeof(float) != 0)
    broken(fmt::format("field {} ends within a number", number_));
  const std::size_t old = floats.size();
  floats.resize(old + value_.size() / sizeof(float));
  if (!value_.empty()) std::memcpy(floats.data() + old, value_.data(), value_.size());
}

}  // namespace sten
