// Images of another size.
#pragma once
#include "libsten/tensor/dense.h"

namespace sten {

// A part of an image, in pixels.
struct ImageCrop {
  Index top = 0, left = 0, height = 0, width = 0;
};

// What `crop` cuts out of the image [H, W, C] (U8) stretched to height x width; the rest of that is
// not computed. Bilinear with antialiasing: where it shrinks by s along an axis, a pixel is the mean
// of those within s on both sides, weighted by a triangle. Across first, rounded to bytes, then
// down. Byte for byte as Pillow's resize(BILINEAR) where both axes shrink or both grow.
Dense resized(const Dense& image, Index height, Index width, const ImageCrop& crop);
Dense resized(const Dense& image, Index height, Index width);

// The shorter side becomes `shorter`, the other one accordingly, rounded down; then the middle of
// size x size, where a pixel more on one side is decided as Python's round() does. As torchvision's
// Resize(shorter) and CenterCrop(size) for images of Pillow. size <= shorter.
Dense centre_of(const Dense& image, Index shorter, Index size);

}  // namespace sten
