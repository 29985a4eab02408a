// SPDX-License-Identifier: Apache-2.0
// Images in files, which are decoded when they are needed.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libsten/data/examples.h"
#include "libsten/data/image/augment.h"

namespace sten {

inline constexpr Index most_image_side = 8192;

struct ImageOptions {
  Index size = 0;    // images become size x size: see centre_of()
  Index resize = 0;  // shorter side before the crop; 0: size
  Index channels = 3;
};

class ImageFiles {
 public:
  struct File {
    std::string path;
    Index label = 0;
  };
  // The files' paths start with `folder`. Error (usage) for options that do not fit together.
  ImageFiles(std::string folder, std::vector<File> files, const ImageOptions& options);

  Index count() const { return std::ssize(files_); }
  Shape extents() const;  // [N, size, size, channels]
  Index bytes() const { return size_of(extents()); }
  Dense labels() const;  // [N], I64
  // Hash of the labels, and of the files' names in the folder and sizes instead of their contents,
  // continued from `hash`. Error for missing files.
  std::uint64_t hashed(std::uint64_t hash) const;

  // Image i, U8 [size, size, channels]: its centre; or `crop(height, width)` of the image, resized.
  // From any thread; threads wait while others decode large images. Error as read_image().
  using Crop = std::function<ImageCrop(Index height, Index width)>;
  Dense image(Index i, const Crop& crop = {}) const;

 private:
  class DecodingMemory;

  std::string folder_;
  std::vector<File> files_;
  ImageOptions options_;
  std::shared_ptr<DecodingMemory> memory_;
};

// Decodes all images, on all threads. Error of the first file that fails.
Examples read_images(const ImageFiles& files);

// Decodes and writes rows as images_of(). `numbers`: of the rows, to augment them; empty: centres.
// Decodes by run_tasks().
Dense images_of(const ImageFiles& files, std::span<const Index> rows, const ChannelScale& by,
                const Augmentation& augmentation, std::span<const std::uint64_t> numbers,
                bool channels_first);

}  // namespace sten
