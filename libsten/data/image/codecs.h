// What decodes PNG and JPEG: libpng and libjpeg, loaded when the first image is read. They are not
// linked, so that programs that read no images run where they are missing. absent/ has what stands
// in for one that was not there at build time.
#pragma once
#include <dlfcn.h>

#include "libsten/data/image/image.h"

namespace sten::image_detail {

// `name` is printable. See decode_image().
Dense decode_png(std::span<const std::byte> file, const std::string& name,
                 const ImageLimits& limits);
Dense decode_jpeg(std::span<const std::byte> file, const std::string& name,
                  const ImageLimits& limits);

// Error for more pixels than the limit, or than so many bytes of file can have where
// each has `pixels_per_byte` at most.
void check_pixels(Index height, Index width, const std::string& name, const ImageLimits& limits,
                  std::size_t bytes, Index pixels_per_byte);

// The bytes that decoding takes are within what a file of this size may: those of an image of three
// channels and as many pixels as the limit, and 16 times the file. Says them to the caller.
void check_decoding(Index takes, const std::string& name, const ImageLimits& limits,
                    std::size_t bytes);

// A shared library, for as long as the process lives.
class Library {
 public:
  explicit Library(const char* file) : handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {}
  // Whether it was loaded, and had all that was looked for.
  bool has_all() const { return handle_ && !lacks_; }
  template <class F>
  void find(F*& function, const char* name) {
    function = handle_ ? reinterpret_cast<F*>(dlsym(handle_, name)) : nullptr;
    lacks_ |= !function;
  }

 private:
  void* handle_;
  bool lacks_ = false;
};

}  // namespace sten::image_detail
