#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "libsten/base/error.h"
#include "libsten/base/text.h"
#include "libsten/data/image/codecs.h"

#define STEN_TEXT(x) #x
#define STEN_TEXT_OF(x) STEN_TEXT(x)

namespace sten::image_detail {
namespace {

constexpr const char* png_library =
    "libpng" STEN_TEXT_OF(PNG_LIBPNG_VER_SONUM) ".so." STEN_TEXT_OF(PNG_LIBPNG_VER_SONUM);

// The functions of libpng, under their names without png_.
struct Png {
  decltype(&png_create_read_struct) create_read_struct;
  decltype(&png_create_info_struct) create_info_struct;
  decltype(&png_destroy_read_struct) destroy_read_struct;
  decltype(&png_get_error_ptr) get_error_ptr;
  decltype(&png_get_io_ptr) get_io_ptr;
  decltype(&png_set_read_fn) set_read_fn;
  decltype(&png_set_chunk_cache_max) set_chunk_cache_max;
  decltype(&png_error) error;
  decltype(&png_read_info) read_info;
  decltype(&png_get_image_height) get_image_height;
  decltype(&png_get_image_width) get_image_width;
  decltype(&png_get_rowbytes) get_rowbytes;
  decltype(&png_get_channels) get_channels;
  decltype(&png_set_expand) set_expand;
  decltype(&png_set_strip_16) set_strip_16;
  decltype(&png_set_strip_alpha) set_strip_alpha;
  decltype(&png_set_interlace_handling) set_interlace_handling;
  decltype(&png_read_update_info) read_update_info;
  decltype(&png_read_image) read_image;
  decltype(&png_read_end) read_end;
};

// nullptr where it does not load.
const Png* png() {
  static const Png* loaded = []() -> const Png* {
    static Png f;
    Library library(png_library);
    library.find(f.create_read_struct, "png_create_read_struct");
    library.find(f.create_info_struct, "png_create_info_struct");
    library.find(f.destroy_read_struct, "png_destroy_read_struct");
    library.find(f.get_error_ptr, "png_get_error_ptr");
    library.find(f.get_io_ptr, "png_get_io_ptr");
    library.find(f.set_read_fn, "png_set_read_fn");
    library.find(f.set_chunk_cache_max, "png_set_chunk_cache_max");
    library.find(f.error, "png_error");
    library.find(f.read_info, "png_read_info");
    library.find(f.get_image_height, "png_get_image_height");
    library.find(f.get_image_width, "png_get_image_width");
    library.find(f.get_rowbytes, "png_get_rowbytes");
    library.find(f.get_channels, "png_get_channels");
    library.find(f.set_expand, "png_set_expand");
    library.find(f.set_strip_16, "png_set_strip_16");
    library.find(f.set_strip_alpha, "png_set_strip_alpha");
    library.find(f.set_interlace_handling, "png_set_interlace_handling");
    library.find(f.read_update_info, "png_read_update_info");
    library.find(f.read_image, "png_read_image");
    library.find(f.read_end, "png_read_end");
    return library.has_all() ? &f : nullptr;
  }();
  return loaded;
}

// What libpng calls back, and where an error goes on. libpng is C, through which no exception may
// pass: on_png_error() jumps over it instead. So nothing that it jumps over has a destructor.
struct PngReading {
  const Png& lib;
  const std::byte* at;
  std::size_t left;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump = {};
  char error[256] = "";

  ~PngReading() {
    if (png_structp mine = png) lib.destroy_read_struct(&mine, &info, nullptr);
  }
};

[[noreturn]] void on_png_error(png_structp from, png_const_charp text) {
  auto& r = *static_cast<PngReading*>(png()->get_error_ptr(from));
  std::snprintf(r.error, sizeof r.error, "%s", text);
  std::longjmp(r.jump, 1);
}
void on_png_warning(png_structp, png_const_charp) {}

void give_png(png_structp to, png_bytep bytes, std::size_t count) {
  auto& r = *static_cast<PngReading*>(png()->get_io_ptr(to));
  if (count > r.left) r.lib.error(to, "it is cut off");
  std::memcpy(bytes, r.at, count);
  r.at += count;
  r.left -= count;
}

// f(), which calls libpng; false where that failed.
template <class F>
bool succeeds(PngReading& r, F f) {
  if (setjmp(r.jump)) return false;
  f();
  return true;
}

}  // namespace

Dense decode_png(std::span<const std::byte> file, const std::string& name,
                 const ImageLimits& limits) {
  const Png* lib = png();
  if (!lib) fail("{}: is a PNG image, and {} is not there to read it", name, png_library);
  PngReading r{*lib, file.data(), file.size()};
  const auto check = [&](bool ok) {
    if (!ok) fail("{}: is a damaged PNG image: {}", name, printable(r.error));
  };
  check(succeeds(r, [&r] {
    r.png = r.lib.create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_png_error, on_png_warning);
    if (!r.png) return;
    r.info = r.lib.create_info_struct(r.png);
    if (!r.info) return;
    r.lib.set_read_fn(r.png, &r, give_png);
    r.lib.set_chunk_cache_max(r.png, 1);  // texts are not read: 8 kB of one may be 8 MB
    r.lib.read_info(r.png, r.info);
  }));
  if (!r.info) fail("{}: {} is not of the version that this program knows", name, png_library);
  const Index height = lib->get_image_height(r.png, r.info);
  const Index width = lib->get_image_width(r.png, r.info);
  // Deflate makes at most 1032 bytes of one, and a pixel has an eighth of one at least.
  check_pixels(height, width, name, limits, file.size(), 8 * 1032);
  check(succeeds(r, [&r] {
    r.lib.set_expand(r.png);
    r.lib.set_strip_16(r.png);
    r.lib.set_strip_alpha(r.png);
    r.lib.set_interlace_handling(r.png);
    r.lib.read_update_info(r.png, r.info);
  }));
  const Index channels = lib->get_channels(r.png, r.info);
  if ((channels != 1 && channels != 3) ||
      std::cmp_not_equal(lib->get_rowbytes(r.png, r.info), width * channels))
    fail("{}: unknown colours of a PNG image with {} channels", name, channels);
  check_decoding(height * width * channels, name, limits, file.size());
  Dense image = unwritten_image(height, width, channels);
  png_bytep to = image.values.mutate<std::uint8_t>().data();
  std::vector<png_bytep> rows(static_cast<std::size_t>(height));
  for (png_bytep& row : rows) row = std::exchange(to, to + width * channels);
  check(succeeds(r, [&r, &rows] {
    r.lib.read_image(r.png, rows.data());
    r.lib.read_end(r.png, nullptr);
  }));
  return image;
}

}  // namespace sten::image_detail
