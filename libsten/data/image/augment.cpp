// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/augment.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/random.h"
#include "libsten/core/base/scalars.h"

namespace sten {

ChannelScale channel_scale(Index channels, double scale, double shift,
                           const std::vector<double>& mean, const std::vector<double>& std) {
  for (const auto* list : {&mean, &std})
    if (!list->empty() && std::ssize(*list) != channels)
      fail_usage("{} has {} values: expected one for each of {} channels",
                 list == &mean ? "mean" : "std", list->size(), channels);
  ChannelScale all;
  for (Index c = 0; c < channels; ++c) {
    const double middle = mean.empty() ? 0 : mean[c], deviation = std.empty() ? 1 : std[c];
    if (!(deviation > 0)) fail_usage("std must be > 0, got {}", deviation);
    all.scale.push_back(static_cast<float>(scale / deviation));
    all.shift.push_back(static_cast<float>((shift - middle) / deviation));
  }
  return all;
}

ImageView view_of(const Augmentation& a, std::uint64_t number) {
  const std::uint64_t bits = random_bits(seed_for(a.seed, "augment"), number);
  const auto crop_positions = static_cast<std::uint64_t>(2 * a.crop_padding + 1);
  const auto place = [&](std::uint64_t v) {
    return static_cast<Index>(v % crop_positions) - a.crop_padding;
  };
  return {place(bits >> 32), place(bits >> 8 & 0xffffff), a.mirror && (bits & 1) != 0};
}

namespace {

struct ImageShape {
  Index height, width, channels;
  Index size() const { return height * width * channels; }
};

// Copies one image, channels last or first.
template <class U, class Number>
void write_image(const U* from, const ImageShape& s, const ImageView& view, const ChannelScale& by,
                 bool channels_first, Number number, float* to) {
  const Index pixel = channels_first ? 1 : s.channels;
  const Index channel = channels_first ? s.height * s.width : 1;
  // The columns [begin, end) of the view show the image, the others padding.
  const Index shift = view.mirrored ? -view.left : view.left;
  const Index begin = std::clamp<Index>(-shift, 0, s.width);
  const Index end = std::clamp<Index>(s.width - shift, begin, s.width);
  const Index first = view.mirrored ? s.width - 1 - begin + view.left : begin + view.left;
  const Index step = view.mirrored ? -s.channels : s.channels;
  for (Index h = 0; h < s.height; ++h, to += s.width * pixel) {
    const Index row = h + view.top;
    const bool is_padding = row < 0 || row >= s.height || begin == end;
    for (Index c = 0; c < s.channels; ++c) {
      float* const y = to + c * channel;
      const float scale = by.scale[c], padding = by.shift[c];
      const auto pad = [=](Index w, Index last) {
        for (; w < last; ++w) y[w * pixel] = padding;
      };
      if (is_padding) {
        pad(0, s.width);
        continue;
      }
      const U* const x = from + (row * s.width + first) * s.channels + c;
      pad(0, begin);
      for (Index w = begin; w < end; ++w)
        y[w * pixel] = static_cast<float>(number(x[(w - begin) * step])) * scale + padding;
      pad(end, s.width);
    }
  }
}

}  // namespace

Dense unwritten_images(const Shape& extents, Index n, const ChannelScale& by, Index views,
                       bool channels_first) {
  if (extents.size() != 4) fail_usage("images must be [N, H, W, C], got {}", to_string(extents));
  const ImageShape s{extents[1], extents[2], extents[3]};
  if (std::ssize(by.scale) != s.channels || (views > 0 && views != n))
    fail_usage("images of {} channels do not fit {} scales, or {} images do not fit {} views",
               s.channels, by.scale.size(), n, views);
  return {channels_first ? Shape{n, s.channels, s.height, s.width}
                         : Shape{n, s.height, s.width, s.channels},
          Values::uninitialized(DType::F32, n * s.size())};
}

void write_image(const Dense& image, const ChannelScale& by, const ImageView& view,
                 bool channels_first, float* to) {
  const ImageShape s{image.extents[0], image.extents[1], image.extents[2]};
  write_image(
      image.values.as<std::uint8_t>().data(), s, view, by, channels_first,
      [](std::uint8_t v) { return v; }, to);
}

Dense images_of(const Dense& images, std::span<const Index> rows, const ChannelScale& by,
                std::span<const ImageView> views, bool channels_first) {
  const Index n = std::ssize(rows);
  Dense y = unwritten_images(images.extents, n, by, std::ssize(views), channels_first);
  const ImageShape s{images.extents[1], images.extents[2], images.extents[3]};
  float* to = y.values.mutate<float>().data();
  const bool known = with_scalar(images.dtype(), [&]<class U>(U, auto number) {
    const U* from = images.values.as<U>().data();
    for (Index i = 0; i < n; ++i)
      write_image(from + rows[i] * s.size(), s, views.empty() ? ImageView{} : views[i], by,
                  channels_first, number, to + i * s.size());
  });
  if (!known) fail_usage("images: unsupported dtype {}", name_of(images.dtype()));
  return y;
}

}  // namespace sten
