// SPDX-License-Identifier: Apache-2.0
// jpeglib.h requires FILE.
#include <cstdio>
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <algorithm>
#include <csetjmp>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/image/codecs.h"

namespace sten::image_detail {
namespace {

// The state of libjpeg's callbacks. libjpeg is C code that no exception may cross: on_jpeg_error()
// jumps back to succeeds(), so no frame in between may have a destructor.
struct JpegReading {
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  jpeg_decompress_struct jpeg = {};
  std::jmp_buf jump = {};
  char error[JMSG_LENGTH_MAX] = "";

  JpegReading() = default;
  JpegReading(const JpegReading&) = delete;
  JpegReading& operator=(const JpegReading&) = delete;
  ~JpegReading() {
    if (jpeg.mem) jpeg_destroy_decompress(&jpeg);
  }
};

[[noreturn]] void on_jpeg_error(j_common_ptr from) {
  auto& r = *static_cast<JpegReading*>(from->client_data);
  from->err->format_message(from, r.error);
  std::longjmp(r.jump, 1);
}

// Treats warnings of damage, after which libjpeg would continue with grey pixels, as errors.
void on_jpeg_message(j_common_ptr from, int level) {
  if (level >= 0) return;
  constexpr int damage[]{JWRN_JPEG_EOF, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE, JWRN_ARITH_BAD_CODE,
                         JWRN_MUST_RESYNC};
  if (std::count(std::begin(damage), std::end(damage), from->err->msg_code)) on_jpeg_error(from);
}

// A small file may have thousands of scans, each as slow as the image is large. Encoders write a
// dozen.
Index most_scans(const jpeg_decompress_struct& jpeg) {
  constexpr Index most_pixels = Index{1} << 30;  // over all scans
  const Index pixels = Index{jpeg.image_height} * jpeg.image_width;
  return std::clamp<Index>(most_pixels / pixels, 16, 1000);
}
void on_jpeg_progress(j_common_ptr from) {
  const auto& jpeg = *reinterpret_cast<j_decompress_ptr>(from);
  const Index most = most_scans(jpeg);
  if (jpeg.input_scan_number <= most) return;
  auto& r = *static_cast<JpegReading*>(from->client_data);
  std::snprintf(r.error, sizeof r.error, "more than %d scans of %u x %u pixels",
                static_cast<int>(most), jpeg.image_width, jpeg.image_height);
  std::longjmp(r.jump, 1);
}

// Memory of the coefficients, which libjpeg holds for images with several scans.
Index coefficient_bytes(const jpeg_decompress_struct& jpeg) {
  if (!jpeg.progressive_mode && jpeg.comps_in_scan == jpeg.num_components) return 0;
  Index blocks = 0;
  for (int c = 0; c < jpeg.num_components; ++c)
    blocks += Index{jpeg.comp_info[c].width_in_blocks} * jpeg.comp_info[c].height_in_blocks;
  return blocks * DCTSIZE2 * static_cast<Index>(sizeof(JCOEF));
}

// Runs f(), which calls libjpeg; false after an error of libjpeg.
template <class F>
bool succeeds(JpegReading& r, F f) {
  if (setjmp(r.jump)) return false;
  f();
  return true;
}

// Converts inverted inks, as Adobe's programs write them: 255 is no ink.
void colours_of_inks(const std::uint8_t* inks, Index pixels, std::uint8_t* colours) {
  for (Index i = 0; i < pixels; ++i) {
    const unsigned white = inks[4 * i + 3];
    for (int c = 0; c < 3; ++c) {
      const unsigned ink = (255u - inks[4 * i + c]) * white;
      colours[3 * i + c] = static_cast<std::uint8_t>(white - (ink + 127) / 255);
    }
  }
}

}  // namespace

Dense decode_jpeg(std::span<const std::byte> file, const std::string& name,
                  const ImageLimits& limits) {
  JpegReading r;
  const auto check = [&](bool ok) {
    if (!ok) fail("{}: damaged JPEG image: {}", name, printable(r.error));
  };
  r.jpeg.err = jpeg_std_error(&r.errors);
  r.errors.error_exit = on_jpeg_error;
  r.errors.emit_message = on_jpeg_message;
  r.progress.progress_monitor = on_jpeg_progress;
  r.jpeg.client_data = &r;
  check(succeeds(r, [&r, file] {
    jpeg_create_decompress(&r.jpeg);
    r.jpeg.progress = &r.progress;
    jpeg_mem_src(&r.jpeg, reinterpret_cast<const unsigned char*>(file.data()),
                 static_cast<unsigned long>(file.size()));
    jpeg_read_header(&r.jpeg, TRUE);
  }));
  const Index height = r.jpeg.image_height, width = r.jpeg.image_width;
  // A block of 64 pixels takes at least a bit, except for arithmetic coding.
  check_pixels(height, width, name, limits, file.size(), r.jpeg.arith_code ? limits.pixels : 512);
  const bool has_inks = r.jpeg.jpeg_color_space == JCS_CMYK || r.jpeg.jpeg_color_space == JCS_YCCK;
  if (r.jpeg.jpeg_color_space == JCS_UNKNOWN)
    fail("{}: unknown color space of a JPEG image with {} channels", name, r.jpeg.num_components);
  const Index channels = r.jpeg.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
  r.jpeg.out_color_space = has_inks ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  check_decoding(height * width * channels + coefficient_bytes(r.jpeg), name, limits, file.size());
  Dense image = unwritten_image(height, width, channels);
  std::uint8_t* to = image.values.mutate<std::uint8_t>().data();
  std::vector<std::uint8_t> inks(has_inks ? static_cast<std::size_t>(4 * width) : 0);
  check(succeeds(r, [&r, &inks, to, width, height, channels, has_inks] {
    jpeg_start_decompress(&r.jpeg);
    for (Index y = 0; y < height; ++y) {
      std::uint8_t* const pixels = to + y * width * channels;
      JSAMPROW row = has_inks ? inks.data() : pixels;
      jpeg_read_scanlines(&r.jpeg, &row, 1);
      if (has_inks) colours_of_inks(row, width, pixels);
    }
    jpeg_finish_decompress(&r.jpeg);
  }));
  return image;
}

}  // namespace sten::image_detail
