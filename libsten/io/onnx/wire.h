// Protobuf's wire format (protobuf.dev/programming-guides/encoding), read where it lies.
//
// Read by hand rather than with libprotobuf: that stops at 2 GB, holds every weight a second time,
// and would tie us to its version. Here weights stay in the map, and one pass reads the structure.
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

// The file that messages lie in, and what errors call it.
struct WireFile {
  ByteRange bytes;
  std::string name;  // printable
  // "FILE: byte 12: WHY"; `at` points into the file.
  [[noreturn]] void broken(const std::byte* at, const std::string& why) const;
};

// The fields of one message, in the file's order. Nothing recurses: a message within a message is
// bytes, for which its reader makes another one of these. Error (input) for lengths beyond the
// message, varints of more than 64 bits, groups, and fields of another type than is asked for.
class WireMessage {
 public:
  WireMessage(ByteRange message, const WireFile& file) : rest_(message), file_(&file) {}

  // To the next field; false where there is none.
  bool next();
  std::uint32_t number() const { return number_; }
  WireType type() const { return type_; }
  // The field's value as it is stored, without tag and length.
  ByteRange value() const { return value_; }
  const WireFile& file() const { return *file_; }

  std::uint64_t varint() const;
  std::int64_t integer() const { return static_cast<std::int64_t>(varint()); }
  // An int32, of which writers store 32 or 64 bits.
  std::int32_t integer32() const { return static_cast<std::int32_t>(varint() & 0xffffffff); }
  float float32() const;
  ByteRange bytes() const;
  std::string_view text() const;
  // A repeated field's, packed or one by one.
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

// Takes a varint off the front. False where there is none, or it has more than 64 bits.
bool take_varint(ByteRange& from, std::uint64_t& value);

}  // namespace sten
