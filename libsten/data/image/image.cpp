// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/image.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/image/codecs.h"
#include "libsten/files/system/data_file.h"
#include "libsten/files/system/file_kind.h"

namespace sten {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view png_start = "\x89PNG\r\n\x1a\n"sv, jpeg_start = "\xff\xd8\xff"sv;

// The name of an unsupported image format; "" for other files.
std::string_view other_format(std::string_view file) {
  constexpr std::pair<std::string_view, std::string_view> all[]{
      {"GIF8"sv, "a GIF image"},     {"BM"sv, "a BMP image"}, {"II*\0"sv, "a TIFF image"},
      {"MM\0*"sv, "a TIFF image"},   {"P5"sv, "a PGM image"}, {"P6"sv, "a PPM image"},
      {"\0\0\1\0"sv, "an ICO image"}};
  for (const auto& [start, kind] : all)
    if (file.starts_with(start)) return kind;
  if (file.starts_with("RIFF") && file.substr(0, 12).ends_with("WEBP")) return "a WebP image";
  return "";
}

}  // namespace

Dense decode_image(std::span<const std::byte> file, const std::string& file_name,
                   const ImageLimits& limits) {
  const std::string name = printable(file_name);
  const std::string_view text = text_of(file);
  if (text.starts_with(png_start)) return image_detail::decode_png(file, name, limits);
  if (text.starts_with(jpeg_start)) return image_detail::decode_jpeg(file, name, limits);
  std::string_view kind = other_format(text);
  if (kind.empty()) kind = foreign_kind(file);
  if (!kind.empty()) fail("{}: expected a PNG or JPEG image, got {}", name, kind);
  fail("{}: not a PNG or JPEG image", name);
}

Dense read_image(const std::string& path, const ImageLimits& limits) {
  const MappedFile file = open_data(path);
  Dense image = decode_image(file.bytes(), path, limits);
  file.check_unchanged();
  return image;
}

Dense with_channels(const Dense& image, Index channels) {
  const Index from = image.extents[2];
  if (from == channels) return image;
  Dense to = unwritten_image(image.extents[0], image.extents[1], channels);
  const std::uint8_t* in = image.values.as<std::uint8_t>().data();
  std::uint8_t* out = to.values.mutate<std::uint8_t>().data();
  const Index pixels = image.extents[0] * image.extents[1];
  if (from == 1) {
    for (Index i = 0; i < pixels; ++i) std::fill_n(out + i * channels, channels, in[i]);
    return to;
  }
  // Weights in 65536ths, which sum to 65536.
  for (Index i = 0; i < pixels; ++i)
    out[i] = static_cast<std::uint8_t>(
        (19595u * in[3 * i] + 38470u * in[3 * i + 1] + 7471u * in[3 * i + 2] + 0x8000u) >> 16);
  return to;
}

}  // namespace sten
