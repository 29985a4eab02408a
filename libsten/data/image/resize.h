// SPDX-License-Identifier: Apache-2.0
// Resizing of images.
#pragma once
#include "libsten/core/tensor/dense.h"

namespace sten {

// A part of an image, in pixels.
struct ImageCrop {
  Index top = 0, left = 0, height = 0, width = 0;
};

// Resizes the part `from` of the image [H, W, C] (U8; C is 1 or 3) to height x width, and returns
// `crop` of the result, computing only the crop. Bilinear with antialiasing: where an axis shrinks
// by s, a pixel is the mean of pixels within a distance of s, weighted by a triangle. Pixels outside
// `from` do not count. Rows are resized first, rounded to bytes, then columns; but columns first if
// the height loses more than twice as many pixels as the width. Equals crop(from).resize(BILINEAR)
// of Pillow 13 byte for byte. Earlier versions of Pillow always resize rows first.
Dense resized(const Dense& image, const ImageCrop& from, Index height, Index width,
              const ImageCrop& crop);
// The whole result, for a part of the image or all of it.
Dense resized(const Dense& image, const ImageCrop& from, Index height, Index width);
Dense resized(const Dense& image, Index height, Index width);

// Resizes the shorter side to `shorter`, and the other side in proportion, rounded down; then crops
// the central size x size, with ties as in Python's round(). Equals torchvision's Resize(shorter)
// and CenterCrop(size) of Pillow images. size <= shorter.
Dense centre_of(const Dense& image, Index shorter, Index size);

}  // namespace sten
