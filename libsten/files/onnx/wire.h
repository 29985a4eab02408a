// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format (protobuf.dev/programming-guides/encoding), read in place.
//
// Does not use libprotobuf, which is limited to 2 GB, copies every weight, and would fix its
// version. Weights stay in the map, and one pass reads the structure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sten {

using ByteRange = std::span<const std::byte>;

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// The file that messages lie in, and its name in errors.
struct WireFile {
  ByteRange bytes;
  std::string name;  // printable
  // Fails with "FILE: byte 12: WHY"; `at` points into the file.
  [[noreturn]] void broken(const std::byte* at, const std::string& why) const;
};

// The fields of one message, in the file's order. Does not recurse: a nested message is a range of
// bytes for another WireMessage. Error (input) for lengths beyond the message, varints of more than
// 64 bits, groups, and fields of an unexpected type.
class WireMessage {
 public:
  WireMessage(ByteRange message, const WireFile& file) : rest_(message), file_(&file) {}

  // Moves to the next field; false at the end.
  bool next();
  std::uint32_t number() const { return number_; }
  WireType type() const { return type_; }
  // The field's bytes, without tag and length.
  ByteRange value() const { return value_; }
  const WireFile& file() const { return *file_; }

  std::uint64_t varint() const;
  std::int64_t integer() const { return static_cast<std::int64_t>(varint()); }
  // An int32, which writers store with 32 or 64 bits.
  std::int32_t integer32() const { return static_cast<std::int32_t>(varint() & 0xffffffff); }
  float float32() const;
  ByteRange bytes() const;
  std::string_view text() const;
  // Adds the values of a repeated field, packed or not.
  void add_to(std::vector<std::int64_t>& integers) const;
  void add_to(std::vector<float>& floats) const;

  [[noreturn]] void broken(const std::string& why) const;

 private:
  ByteRange take(std::uint64_t n);
  void want(WireType type) const;

  ByteRange rest_, value_;
  const WireFile* file_;
  const std::byte* at_ = nullptr;  // the field's tag
  std::uint32_t number_ = 0;
  WireType type_ = WireType::varint;
};

// Removes a varint from the front. False if there is none, or it has more than 64 bits.
bool take_varint(ByteRange& from, std::uint64_t& value);

}  // namespace sten
