// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/image_files.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "libsten/core/base/error.h"
#include "libsten/core/base/hash.h"
#include "libsten/core/base/memory_left.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/tasks.h"
#include "libsten/core/base/text.h"
#include "libsten/data/image/image.h"

namespace sten {

// Bounds the memory of images that are decoded at the same time. An image above the bound is
// decoded alone.
class ImageFiles::DecodingMemory {
 public:
  void take(Index bytes) {
    std::unique_lock hold(lock_);
    freed_.wait(hold, [&] { return taken_ == 0 || taken_ + bytes <= most; });
    taken_ += bytes;
  }
  void free(Index bytes) {
    const std::lock_guard hold(lock_);
    taken_ -= bytes;
    freed_.notify_all();
  }

 private:
  static constexpr Index most = 200'000'000;
  std::mutex lock_;
  std::condition_variable freed_;
  Index taken_ = 0;
};

ImageFiles::ImageFiles(std::string folder, std::vector<File> files, const ImageOptions& options)
    : folder_(std::move(folder)),
      files_(std::move(files)),
      options_(options),
      memory_(std::make_shared<DecodingMemory>()) {
  const Index shorter = options.resize ? options.resize : options.size;
  if (options.size < 1 || shorter < options.size || shorter > most_image_side)
    fail_usage("images: a crop of {0} x {0} pixels does not fit a shorter side of {1}",
               options.size, shorter);
  if (options.channels != 1 && options.channels != 3)
    fail_usage("images: channels must be 1 or 3, got {}", options.channels);
}

Shape ImageFiles::extents() const {
  return {count(), options_.size, options_.size, options_.channels};
}

Dense ImageFiles::labels() const {
  Dense y{{count()}, Values::uninitialized(DType::I64, count())};
  std::ranges::transform(files_, y.values.mutate<std::int64_t>().data(), &File::label);
  return y;
}

std::uint64_t ImageFiles::hashed(std::uint64_t hash) const {
  std::vector<std::int64_t> sizes(files_.size());
  parallel_for(count(), 64, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      std::error_code error;
      sizes[i] = static_cast<std::int64_t>(std::filesystem::file_size(files_[i].path, error));
      if (error) fail("{}: {}", printable(files_[i].path), error.message());
    }
  });
  for (const File& f : files_) {
    // With the 0 at the end.
    const std::span name(f.path.c_str(), f.path.size() + 1);
    hash = hash_bytes(hash, std::as_bytes(name.subspan(folder_.size())));
  }
  hash = hash_bytes(hash, std::as_bytes(std::span(sizes)));
  return hash_bytes(hash, labels().values.bytes());
}

Dense ImageFiles::image(Index i, const Crop& crop) const {
  Index taken = 0;
  const ImageLimits limits{.before_decoding = [&](Index n) { memory_->take(taken = n); }};
  struct Freed {
    DecodingMemory& memory;
    const Index& taken;
    ~Freed() {
      if (taken > 0) memory.free(taken);
    }
  } freed{*memory_, taken};
  const ImageOptions& o = options_;
  Dense image = read_image(files_[i].path, limits);
  // Resizes grey images before adding channels, which is less work.
  if (image.extents[2] != 1) image = with_channels(image, o.channels);
  image = crop ? resized(image, crop(image.extents[0], image.extents[1]), o.size, o.size)
               : centre_of(image, o.resize ? o.resize : o.size, o.size);
  return with_channels(image, o.channels);
}

Examples read_images(const ImageFiles& files) {
  const Shape shape = files.extents();
  const Index n = files.count(), bytes = size_of(shape) / std::max<Index>(1, n);
  check_memory(static_cast<double>(n) * static_cast<double>(bytes),
               fmt::format("{} images of {} x {} pixels", n, shape[1], shape[2]));
  Examples all{{shape, Values::uninitialized(DType::U8, n * bytes)}, files.labels()};
  std::uint8_t* pixels = all.features.values.mutate<std::uint8_t>().data();
  run_tasks(n, [&](Index i) {
    std::memcpy(pixels + i * bytes, files.image(i).values.bytes().data(), bytes);
  });
  return all;
}

Dense images_of(const ImageFiles& files, std::span<const Index> rows, const ChannelScale& by,
                const Augmentation& augmentation, std::span<const std::uint64_t> numbers,
                bool channels_first) {
  const Shape shape = files.extents();
  const Index n = std::ssize(rows), size = shape[1] * shape[2] * shape[3];
  Dense y = unwritten_images(shape, n, by, std::ssize(numbers), channels_first);
  float* to = y.values.mutate<float>().data();
  run_tasks(n, [&](Index i) {
    const std::optional<std::uint64_t> number =
        numbers.empty() ? std::nullopt : std::optional(numbers[i]);
    ImageFiles::Crop crop;
    if (number && augmentation.resized_crop)
      crop = [&](Index height, Index width) {
        return random_crop(*augmentation.resized_crop, height, width, augmentation.seed, *number);
      };
    const ImageView view = number ? view_of(augmentation, *number) : ImageView{};
    write_image(files.image(rows[i], crop), by, view, channels_first, to + i * size);
  });
  return y;
}

}  // namespace sten
