// SPDX-License-Identifier: Apache-2.0
// Augmentation: random crops and flips of images, with normalization by channel.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libsten/data/image/random_crop.h"

namespace sten {

// Maps a channel's value x to scale * x + shift.
struct ChannelScale {
  std::vector<float> scale, shift;  // per channel
};

// (scale * x + shift - mean) / std, computed in double. Empty lists stand for means of 0 and
// deviations of 1. Error (usage) if a list's length is not `channels`, or a deviation is not
// positive.
ChannelScale channel_scale(Index channels, double scale, double shift,
                           const std::vector<double>& mean, const std::vector<double>& std);

struct Augmentation {
  // Pixels of 0 (before scaling) around the image, from which a crop of the image's size is taken.
  Index crop_padding = 0;
  bool mirror = false;  // flip every other image horizontally
  std::uint64_t seed = 0;
  std::optional<RandomResizedCrop> resized_crop{};  // of images in files

  bool is_none() const { return crop_padding == 0 && !mirror && !resized_crop; }
};

// The crop: its first row and column in the image, from -crop_padding to crop_padding.
struct ImageView {
  Index top = 0, left = 0;
  bool mirrored = false;
};

// The view of image `number`. Depends only on seed and number, so that any language can reproduce
// it: with b = random_bits(seed_for(seed, "augment"), number) and p = 2 * crop_padding + 1, the
// first row is (b >> 32) % p - crop_padding, the first column is (b >> 8 & 0xffffff) % p -
// crop_padding, and the lowest bit mirrors.
ImageView view_of(const Augmentation& a, std::uint64_t number);

// Writes a U8 image [H, W, C] in F32: channels last, or first.
void write_image(const Dense& image, const ChannelScale& by, const ImageView& view,
                 bool channels_first, float* to);

// Returns rows of images [N, H, W, C] in F32: [rows, H, W, C], or [rows, C, H, W] with channels
// first. `views` has one per row, or is empty.
Dense images_of(const Dense& images, std::span<const Index> rows, const ChannelScale& by,
                std::span<const ImageView> views, bool channels_first);

// The uninitialized result of images_of(): n images of the extents [N, H, W, C], in F32. Error
// (usage) unless there is a scale per channel, and a view per image or none.
Dense unwritten_images(const Shape& extents, Index n, const ChannelScale& by, Index views,
                       bool channels_first);

}  // namespace sten
