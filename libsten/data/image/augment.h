// Images as a network takes them: cropped and mirrored at random, and normalised by channel.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "libsten/tensor/dense.h"

namespace sten {

// A channel's value x becomes scale * x + shift.
struct ChannelScale {
  std::vector<float> scale, shift;  // by channel
};

// (scale * x + shift - mean) / std, computed in double. Empty lists are means of 0 and deviations of
// 1. Error (usage) where a list has another length than `channels`, or a deviation is not positive.
ChannelScale channel_scale(Index channels, double scale, double shift,
                           const std::vector<double>& mean, const std::vector<double>& std);

struct Augmentation {
  // Pixels of 0 (before they are scaled) around the image; a piece of its own size is cut out.
  Index crop_padding = 0;
  bool mirror = false;  // left and right are swapped in every other image
  std::uint64_t seed = 0;
};

// Which part is seen: its first row and column in the image, from -crop_padding to crop_padding.
struct ImageView {
  Index top = 0, left = 0;
  bool mirrored = false;
};

// Depends on the seed and the number alone, so that any language can repeat it: with
// b = random_bits(seed_for(seed, "augment"), number) and p = 2 * crop_padding + 1, the first row is
// (b >> 32) % p - crop_padding, the first column (b >> 8 & 0xffffff) % p - crop_padding, and the
// lowest bit mirrors.
ImageView view_of(const Augmentation& a, std::uint64_t number);

// Those of the images [N, H, W, C], in F32: [rows, H, W, C], or [rows, C, H, W] where channels come
// first. `views` has one for each row, or none.
Dense images_of(const Dense& images, std::span<const Index> rows, const ChannelScale& by,
                std::span<const ImageView> views, bool channels_first);

}  // namespace sten
