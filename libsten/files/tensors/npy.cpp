// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/file_kind.h"
#include "libsten/files/tensors/safetensors.h"
#include "libsten/files/tensors/safetensors_header.h"

namespace sten {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view magic = "\x93NUMPY"sv;
constexpr std::size_t version_bytes = 2;

struct Kind {
  std::string_view code;  // NumPy's code, without the byte order
  DType dtype;
};
constexpr Kind kinds[] = {
    {"f8", DType::F64}, {"f4", DType::F32}, {"f2", DType::F16}, {"b1", DType::BOOL},
    {"u1", DType::U8},  {"i1", DType::I8},  {"u2", DType::U16}, {"i2", DType::I16},
    {"u4", DType::U32}, {"i4", DType::I32}, {"u8", DType::U64}, {"i8", DType::I64},
    {"c8", DType::C64},
};

// The reason why an element type is not supported.
std::string_view reason(std::string_view code) {
  // ml_dtypes writes float8_e5m2 as f1, which NumPy does not read.
  if (code.starts_with('V') || code == "f1")
    return "has no type (bfloat16 and float8 of ml_dtypes need safetensors)";
  if (code.starts_with('O')) return "is not numeric: expected numbers, got Python objects";
  if (code.starts_with('S') || code.starts_with('U') || code.starts_with('a'))
    return "is not numeric: expected numbers, got strings";
  if (code.starts_with('M') || code.starts_with('m'))
    return "is not numeric: expected numbers, got times";
  return "is unknown";
}

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } and no other Python.
class DictReader {
 public:
  // `start`: offset of `text` in the file.
  DictReader(std::string_view text, std::size_t start, const std::string& file)
      : text_(text), start_(start), file_(file) {}

  NpyHeader read() {
    NpyHeader header;
    std::vector<std::string_view> seen;
    const auto has = [&](std::string_view key) {
      return std::find(seen.begin(), seen.end(), key) != seen.end();
    };
    expect('{');
    for (bool comma = true; !take('}'); comma = take(',')) {
      if (!comma) unexpected("',' or '}'");
      const std::string_view key = string("a key in quotes");
      if (has(key)) fail("{}: header: '{}' appears twice", file_, key);
      seen.push_back(key);
      expect(':');
      if (key == "descr") {
        header.dtype = dtype();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = tuple();
      } else {
        fail("{}: header: unknown key {}", file_, shown(key));
      }
    }
    if (next(); at_ != text_.size()) unexpected("nothing after the dict");
    for (const char* key : {"descr", "fortran_order", "shape"})
      if (!has(key)) fail("{}: header: missing '{}'", file_, key);
    return header;
  }

 private:
  // The next character that is not white space; '\0' at the end.
  char next() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n\f", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) unexpected(fmt::format("'{}'", c));
  }

  [[noreturn]] void unexpected(std::string_view wanted) {
    next();
    fail("{}: header: expected {} at byte {} of the file, got {}", file_, wanted, start_ + at_,
         at_ < text_.size() ? shown(text_.substr(at_, 10)) : "the end");
  }

  std::string_view string(std::string_view wanted) {
    const char mark = next();
    if (mark != '\'' && mark != '"') unexpected(wanted);
    const std::size_t end = text_.find(mark, at_ + 1);
    if (end == text_.npos) unexpected("a closing quote");
    const std::string_view s = text_.substr(at_ + 1, end - at_ - 1);
    // No valid header has escapes or line breaks in strings.
    if (s.find_first_of("\\\n\r") != s.npos) unexpected("a plain string");
    at_ = end + 1;
    return s;
  }

  bool boolean() {
    next();
    for (const auto& [word, value] : {std::pair("True"sv, true), std::pair("False"sv, false)}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    unexpected("True or False");
  }

  // () or (1,) or (1, 2) or (1, 2,)
  Shape tuple() {
    Shape shape;
    expect('(');
    bool comma = true;
    for (; !take(')'); comma = take(',')) {
      if (!comma) unexpected("',' or ')'");
      if (shape.size() == max_rank) fail("{}: expected at most {} dimensions", file_, max_rank);
      shape.push_back(extent());
    }
    if (shape.size() == 1 && !comma)
      fail("{}: header: 'shape': expected a tuple, got a number", file_);
    return shape;
  }

  Index extent() {
    if (next() == '-') unexpected("an extent >= 0");
    const std::string_view rest = text_.substr(at_);
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits == 0) unexpected("an integer");
    if (digits > 1 && rest[0] == '0') unexpected("an integer without leading zeros");
    Index value = 0;
    if (!parse_integer(rest.substr(0, digits), value))
      fail("{}: header: 'shape': expected extents of at most 2^63 - 1", file_);
    at_ += digits;
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
    return value;
  }

  DType dtype() {
    if (next() == '[') fail("{}: expected numbers, got structures", file_);
    const std::string_view descr = string("a dtype in quotes");
    const char order = descr.empty() ? '\0' : descr[0];
    const std::string_view code = descr.substr(std::min<std::size_t>(1, descr.size()));
    const auto* kind = std::find_if(std::begin(kinds), std::end(kinds),
                                    [&](const Kind& k) { return k.code == code; });
    if (kind == std::end(kinds)) fail("{}: dtype {} {}", file_, shown(descr), reason(code));
    if (order == '<' || order == '=') return kind->dtype;
    if ((order == '|' || order == '>') && width_of(kind->dtype) == 1) return kind->dtype;
    if (order == '>')
      fail("{}: dtype {} is big-endian (save x.astype('<{}'), little-endian)", file_, shown(descr),
           code);
    fail("{}: dtype {} has no byte order", file_, shown(descr));
  }

  const std::string_view text_;
  const std::size_t start_;
  const std::string& file_;
  std::size_t at_ = 0;
};

struct HeaderText {
  std::string_view text;
  std::size_t start;
};

HeaderText npy_header_text(std::span<const std::byte> file, const std::string& name) {
  if (file.empty()) fail("{}: is empty", name);
  if (!is_npy(file)) {
    const std::string_view kind = foreign_kind(file);
    if (!kind.empty()) fail("{}: is {}, not a .npy file", name, kind);
    fail("{}: is not a .npy file", name);
  }
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(file[i]); };
  const auto too_short = [&] {
    fail("{}: has {} bytes, too few for a .npy file (is the file truncated?)", name, file.size());
  };
  std::size_t start = magic.size() + version_bytes;
  if (file.size() < start) too_short();
  const unsigned major = byte(start - 2), minor = byte(start - 1);
  if (major < 1 || major > 3 || minor != 0)
    fail("{}: unknown version {}.{} of the format", name, major, minor);
  const std::size_t length_width = major == 1 ? 2 : 4;
  if (file.size() < start + length_width) too_short();
  std::uint64_t length = 0;  // little-endian
  for (std::size_t i = length_width; i-- > 0;) length = length << 8 | byte(start + i);
  start += length_width;
  if (length > max_npy_header_bytes)
    fail("{}: header length: expected at most {} bytes, got {}", name, max_npy_header_bytes,
         length);
  if (length > file.size() - start)
    fail("{}: header length is {} bytes, only {} follow (is the file truncated?)", name, length,
         file.size() - start);
  return {{reinterpret_cast<const char*>(file.data()) + start, length}, start};
}

}  // namespace

bool is_npy(std::span<const std::byte> file) {
  return std::string_view(reinterpret_cast<const char*>(file.data()), file.size())
      .starts_with(magic);
}

NpyHeader parse_npy(std::span<const std::byte> file, const std::string& file_name) {
  const std::string name = printable(file_name);
  const auto [text, start] = npy_header_text(file, name);
  NpyHeader header = DictReader(text, start, name).read();
  header.data_offset = start + text.size();
  std::uint64_t bytes = 0;
  try {
    bytes = byte_size(header.dtype, header.shape);
  } catch (const Error& error) {
    fail("{}: {}", name, error.what());
  }
  const std::uint64_t data = file.size() - header.data_offset;
  if (bytes > data)
    fail("{}: shape {} of {} needs {} bytes, the file has {} (is the file truncated?)", name,
         to_string(header.shape), name_of(header.dtype), bytes, data);
  if (bytes < data)
    fail("{}: {} unexpected bytes follow the {} bytes of shape {} of {}", name, data - bytes, bytes,
         to_string(header.shape), name_of(header.dtype));
  return header;
}

std::string npy_header(DType dtype, const Shape& shape) {
  const auto* kind = std::find_if(std::begin(kinds), std::end(kinds),
                                  [&](const Kind& k) { return k.dtype == dtype; });
  if (kind == std::end(kinds))
    fail_usage("{} cannot be written as .npy (write a .safetensors file)", name_of(dtype));
  if (shape.size() > max_rank)
    fail("shape {}: expected at most {} dimensions", to_string(shape), max_rank);
  checked_size(shape);

  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 width_of(dtype) == 1 ? '|' : '<', kind->code,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // Space for the first extent to grow in place.
  constexpr std::size_t widest = 21, alignment = 64;
  if (!shape.empty()) text.append(widest - std::to_string(shape[0]).size(), ' ');
  // Version 1.0 has two bytes for the length, enough for any shape of max_rank.
  const std::size_t start = magic.size() + version_bytes + 2;
  text.append(alignment - (start + text.size() + 1) % alignment, ' ');  // at least one space
  text += '\n';
  std::string header(magic);
  for (const std::size_t byte :
       {std::size_t{1}, std::size_t{0}, text.size() & 0xff, text.size() >> 8})
    header += static_cast<char>(byte);
  return header + text;
}

}  // namespace sten
