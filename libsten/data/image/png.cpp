// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/image/codecs.h"

namespace sten::image_detail {
namespace {

// The state of libpng's callbacks. libpng is C code that no exception may cross: on_png_error() jumps
// back to succeeds(), so no frame in between may have a destructor.
struct PngReading {
  const std::byte* at;
  std::size_t left;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump = {};
  char error[256] = "";

  ~PngReading() {
    if (png_structp mine = png) png_destroy_read_struct(&mine, &info, nullptr);
  }
};

[[noreturn]] void on_png_error(png_structp from, png_const_charp text) {
  auto& r = *static_cast<PngReading*>(png_get_error_ptr(from));
  std::snprintf(r.error, sizeof r.error, "%s", text);
  std::longjmp(r.jump, 1);
}
void on_png_warning(png_structp, png_const_charp) {}

void give_png(png_structp to, png_bytep bytes, std::size_t count) {
  auto& r = *static_cast<PngReading*>(png_get_io_ptr(to));
  if (count > r.left) png_error(to, "truncated");
  std::memcpy(bytes, r.at, count);
  r.at += count;
  r.left -= count;
}

// Runs f(), which calls libpng; false after an error of libpng.
template <class F>
bool succeeds(PngReading& r, F f) {
  if (setjmp(r.jump)) return false;
  f();
  return true;
}

}  // namespace

Dense decode_png(std::span<const std::byte> file, const std::string& name,
                 const ImageLimits& limits) {
  PngReading r{file.data(), file.size()};
  const auto check = [&](bool ok) {
    if (!ok) fail("{}: damaged PNG image: {}", name, printable(r.error));
  };
  check(succeeds(r, [&r] {
    r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_png_error, on_png_warning);
    if (!r.png) return;
    r.info = png_create_info_struct(r.png);
    if (!r.info) return;
    png_set_read_fn(r.png, &r, give_png);
    png_set_chunk_cache_max(r.png, 1);  // skips texts: 8 kB can inflate to 8 MB
    png_read_info(r.png, r.info);
  }));
  if (!r.info) fail("{}: unsupported libpng version (expected {})", name, PNG_LIBPNG_VER_STRING);
  const Index height = png_get_image_height(r.png, r.info);
  const Index width = png_get_image_width(r.png, r.info);
  // Deflate expands a byte to at most 1032 bytes, and a pixel has at least an eighth of a byte.
  check_pixels(height, width, name, limits, file.size(), 8 * 1032);
  check(succeeds(r, [&r] {
    png_set_expand(r.png);
    png_set_strip_16(r.png);
    png_set_strip_alpha(r.png);
    png_set_interlace_handling(r.png);
    png_read_update_info(r.png, r.info);
  }));
  const Index channels = png_get_channels(r.png, r.info);
  if ((channels != 1 && channels != 3) ||
      std::cmp_not_equal(png_get_rowbytes(r.png, r.info), width * channels))
    fail("{}: unknown color space of a PNG image with {} channels", name, channels);
  check_decoding(height * width * channels, name, limits, file.size());
  Dense image = unwritten_image(height, width, channels);
  png_bytep to = image.values.mutate<std::uint8_t>().data();
  std::vector<png_bytep> rows(static_cast<std::size_t>(height));
  for (png_bytep& row : rows) row = std::exchange(to, to + width * channels);
  check(succeeds(r, [&r, &rows] {
    png_read_image(r.png, rows.data());
    png_read_end(r.png, nullptr);
  }));
  return image;
}

}  // namespace sten::image_detail
