// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/file_kind.h"

#include <algorithm>

namespace sten {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view start, kind;
};
// Read as the length of a safetensors header, each of these is above the limit, or (zip) is not
// followed by '{'.
constexpr Magic magics[] = {
    {"version https://git-lfs"sv,
     "a Git LFS pointer to the file (`git lfs pull` fetches the file)"},
    {"PK\x03\x04"sv, "a zip archive, such as a PyTorch checkpoint"},
    {"GGUF"sv, "a GGUF file"},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    {"\x93NUMPY"sv, "a NumPy .npy file"},
    {"\x1f\x8b\x08"sv, "gzip-compressed data"},
};

// Opcode 0x80 with the protocol, then a byte that no header length can have: a frame (0x95), or one
// that makes the length at least 2^26.
bool is_pickle(std::string_view s) {
  if (s.size() < 4 || s[0] != '\x80' || s[1] < 2 || s[1] > 5) return false;
  const auto high = s.substr(3, 5);
  return s[2] == '\x95' || static_cast<unsigned char>(high[0]) >= 8 ||
         std::any_of(high.begin() + 1, high.end(), [](char c) { return c != 0; });
}

// The name of the first file in a zip archive.
std::string_view first_in_zip(std::string_view s) {
  constexpr std::size_t name = 30;  // offset of the name; its length is two bytes at 26
  if (s.size() < name) return "";
  return s.substr(name, static_cast<unsigned char>(s[26]) | static_cast<unsigned char>(s[27]) << 8);
}

bool is_text(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\n' || c == '\r';
  });
}

std::string_view start_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), std::min<std::size_t>(file.size(), 512)};
}

}  // namespace

bool is_npz(std::span<const std::byte> file) {
  const std::string_view s = start_of(file);
  return s.starts_with("PK\x03\x04") && first_in_zip(s).ends_with(".npy");
}

// The next field is a text (2, 3, 4, 6), a number (5), the graph (7) or an operator set (8); the
// next bytes are too large for the length of a safetensors header.
bool is_onnx(std::span<const std::byte> file) {
  const std::string_view s = start_of(file);
  return s.size() >= 8 && s[0] == '\x08' && s[1] >= 1 && s[1] < 0x20 &&
         "\x12\x1a\x22\x28\x32\x3a\x42"sv.find(s[2]) != s.npos &&
         std::any_of(s.begin() + 4, s.begin() + 8, [](char c) { return c != 0; });
}

std::string_view foreign_kind(std::span<const std::byte> file) {
  const std::string_view s = start_of(file);
  if (is_npz(file)) return "a NumPy .npz archive of arrays";
  for (const Magic& m : magics)
    if (s.starts_with(m.start)) return m.kind;
  if (is_pickle(s)) return "a Python pickle that torch.save() did not write";
  if (is_onnx(file)) return "an ONNX model";
  // The high bytes of a header's length are zero, which text never has.
  if (!is_text(s.substr(0, 8))) return "";
  const std::size_t first = s.find_first_not_of("\xef\xbb\xbf \t\r\n"sv);
  if (first == std::string_view::npos) return "";
  if (s[first] == '<') return "an HTML or XML page, such as a failed download leaves";
  if (s[first] == '{' || s[first] == '[')
    return "JSON text, such as the error message of a failed download, or an index file";
  return "";
}

}  // namespace sten
