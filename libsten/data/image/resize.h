// Resizing of images.
#pragma once
#include "libsten/core/tensor/dense.h"

namespace sten {

// A part of an image, in pixels.
struct ImageCrop {
  Index top = 0, left = 0, height = 0, width = 0;
};

// Returns `crop` of the image [H, W, C] (U8) resized to height x width, computing only the crop.
// Bilinear with antialiasing: where an axis shrinks by s, a pixel is the mean of pixels within a
// distance of s, weighted by a triangle. Horizontal first, rounded to bytes, then vertical. Equals
// Pillow's resize(BILINEAR) byte for byte if both axes shrink or both grow.
Dense resized(const Dense& image, Index height, Index width, const ImageCrop& crop);
Dense resized(const Dense& image, Index height, Index width);

// Resizes the shorter side to `shorter`, and the other side in proportion, rounded down; then crops
// the central size x size, with ties as in Python's round(). Equals torchvision's Resize(shorter)
// and CenterCrop(size) of Pillow images. size <= shorter.
Dense centre_of(const Dense& image, Index shorter, Index size);

}  // namespace sten
