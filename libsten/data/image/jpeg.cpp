// jpeglib.h needs FILE to be known.
#include <cstdio>
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <algorithm>
#include <csetjmp>

#include "libsten/base/error.h"
#include "libsten/base/text.h"
#include "libsten/data/image/codecs.h"

namespace sten::image_detail {
namespace {

// The names of libjpeg-turbo, which stand for what its structures look like.
constexpr const char* jpeg_library = JPEG_LIB_VERSION >= 80   ? "libjpeg.so.8"
                                     : JPEG_LIB_VERSION >= 70 ? "libjpeg.so.7"
                                                              : "libjpeg.so.62";

// The functions of libjpeg, under their names without jpeg_.
struct Jpeg {
  decltype(&jpeg_std_error) std_error;
  decltype(&jpeg_CreateDecompress) create_decompress;
  decltype(&jpeg_destroy_decompress) destroy_decompress;
  decltype(&jpeg_mem_src) mem_src;
  decltype(&jpeg_read_header) read_header;
  decltype(&jpeg_start_decompress) start_decompress;
  decltype(&jpeg_read_scanlines) read_scanlines;
  decltype(&jpeg_finish_decompress) finish_decompress;
};

// nullptr where it does not load.
const Jpeg* jpeg() {
  static const Jpeg* loaded = []() -> const Jpeg* {
    static Jpeg f;
    Library library(jpeg_library);
    library.find(f.std_error, "jpeg_std_error");
    library.find(f.create_decompress, "jpeg_CreateDecompress");
    library.find(f.destroy_decompress, "jpeg_destroy_decompress");
    library.find(f.mem_src, "jpeg_mem_src");
    library.find(f.read_header, "jpeg_read_header");
    library.find(f.start_decompress, "jpeg_start_decompress");
    library.find(f.read_scanlines, "jpeg_read_scanlines");
    library.find(f.finish_decompress, "jpeg_finish_decompress");
    return library.has_all() ? &f : nullptr;
  }();
  return loaded;
}

// What libjpeg calls back, and where an error goes on. libjpeg is C, through which no exception may
// pass: on_jpeg_error() jumps over it instead. So nothing that it jumps over has a destructor.
struct JpegReading {
  const Jpeg& lib;
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  jpeg_decompress_struct jpeg = {};
  std::jmp_buf jump = {};
  char error[JMSG_LENGTH_MAX] = "";

  explicit JpegReading(const Jpeg& l) : lib(l) {}
  JpegReading(const JpegReading&) = delete;
  JpegReading& operator=(const JpegReading&) = delete;
  ~JpegReading() {
    if (jpeg.mem) lib.destroy_decompress(&jpeg);
  }
};

[[noreturn]] void on_jpeg_error(j_common_ptr from) {
  auto& r = *static_cast<JpegReading*>(from->client_data);
  from->err->format_message(from, r.error);
  std::longjmp(r.jump, 1);
}

// libjpeg warns of damage, and goes on with grey. What warns of something else is well.
void on_jpeg_message(j_common_ptr from, int level) {
  if (level >= 0) return;
  constexpr int damage[]{JWRN_JPEG_EOF, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE, JWRN_ARITH_BAD_CODE,
                         JWRN_MUST_RESYNC};
  if (std::count(std::begin(damage), std::end(damage), from->err->msg_code)) on_jpeg_error(from);
}

// A small file may have thousands of scans, each of which takes as long as the image is large.
// Programs write a dozen.
Index most_scans(const jpeg_decompress_struct& jpeg) {
  constexpr Index most_pixels = Index{1} << 30;  // of all scans
  const Index pixels = Index{jpeg.image_height} * jpeg.image_width;
  return std::clamp<Index>(most_pixels / pixels, 16, 1000);
}
void on_jpeg_progress(j_common_ptr from) {
  const auto& jpeg = *reinterpret_cast<j_decompress_ptr>(from);
  const Index most = most_scans(jpeg);
  if (jpeg.input_scan_number <= most) return;
  auto& r = *static_cast<JpegReading*>(from->client_data);
  std::snprintf(r.error, sizeof r.error, "it has more than %d scans of %u x %u pixels",
                static_cast<int>(most), jpeg.image_width, jpeg.image_height);
  std::longjmp(r.jump, 1);
}

// Coefficients of all blocks, which an image has in memory whose scans have not all channels.
Index coefficient_bytes(const jpeg_decompress_struct& jpeg) {
  if (!jpeg.progressive_mode && jpeg.comps_in_scan == jpeg.num_components) return 0;
  Index blocks = 0;
  for (int c = 0; c < jpeg.num_components; ++c)
    blocks += Index{jpeg.comp_info[c].width_in_blocks} * jpeg.comp_info[c].height_in_blocks;
  return blocks * DCTSIZE2 * static_cast<Index>(sizeof(JCOEF));
}

// f(), which calls libjpeg; false where that failed.
template <class F>
bool succeeds(JpegReading& r, F f) {
  if (setjmp(r.jump)) return false;
  f();
  return true;
}

// Of inks whose values are inverted, as Adobe's programs write them: 255 is none.
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
  const Jpeg* lib = jpeg();
  if (!lib) fail("{}: is a JPEG image, and {} is not there to read it", name, jpeg_library);
  JpegReading r(*lib);
  const auto check = [&](bool ok) {
    if (!ok) fail("{}: is a damaged JPEG image: {}", name, printable(r.error));
  };
  r.jpeg.err = lib->std_error(&r.errors);
  r.errors.error_exit = on_jpeg_error;
  r.errors.emit_message = on_jpeg_message;
  r.progress.progress_monitor = on_jpeg_progress;
  r.jpeg.client_data = &r;
  check(succeeds(r, [&r, file] {
    r.lib.create_decompress(&r.jpeg, JPEG_LIB_VERSION, sizeof(r.jpeg));
    r.jpeg.progress = &r.progress;
    r.lib.mem_src(&r.jpeg, reinterpret_cast<const unsigned char*>(file.data()),
                  static_cast<unsigned long>(file.size()));
    r.lib.read_header(&r.jpeg, TRUE);
  }));
  const Index height = r.jpeg.image_height, width = r.jpeg.image_width;
  // A block of 64 pixels takes a bit at least, but for arithmetic coding.
  check_pixels(height, width, name, limits, file.size(), r.jpeg.arith_code ? limits.pixels : 512);
  const bool has_inks = r.jpeg.jpeg_color_space == JCS_CMYK || r.jpeg.jpeg_color_space == JCS_YCCK;
  if (r.jpeg.jpeg_color_space == JCS_UNKNOWN)
    fail("{}: unknown colours of a JPEG image with {} channels", name, r.jpeg.num_components);
  const Index channels = r.jpeg.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
  r.jpeg.out_color_space = has_inks ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  check_decoding(height * width * channels + coefficient_bytes(r.jpeg), name, limits, file.size());
  Dense image = unwritten_image(height, width, channels);
  std::uint8_t* to = image.values.mutate<std::uint8_t>().data();
  std::vector<std::uint8_t> inks(has_inks ? static_cast<std::size_t>(4 * width) : 0);
  check(succeeds(r, [&r, &inks, to, width, height, channels, has_inks] {
    r.lib.start_decompress(&r.jpeg);
    for (Index y = 0; y < height; ++y) {
      std::uint8_t* const pixels = to + y * width * channels;
      JSAMPROW row = has_inks ? inks.data() : pixels;
      r.lib.read_scanlines(&r.jpeg, &row, 1);
      if (has_inks) colours_of_inks(row, width, pixels);
    }
    r.lib.finish_decompress(&r.jpeg);
  }));
  return image;
}

}  // namespace sten::image_detail
