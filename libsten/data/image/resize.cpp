#include "libsten/data/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "libsten/data/image/image.h"

namespace sten {
namespace {

constexpr int weight_bits = 22;  // with the 8 bits of a byte they fit 31 bits

// The inputs of each output along an axis: `count` from `first` on, with weights.
struct Taps {
  struct Of {
    Index first, count, weights;
  };
  std::vector<Of> outputs;
  std::vector<std::int32_t> weights;
};

// Taps of outputs [begin, begin + n) of an axis resized from `in` to `out`.
Taps taps_of(Index in, Index out, Index begin, Index n) {
  Taps taps;
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double support = std::max(1.0, scale), inverse = 1 / support;
  std::vector<double> row;
  for (Index i = begin; i < begin + n; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const Index first = std::max<Index>(0, static_cast<Index>(centre - support + 0.5));
    const Index last = std::min(in, static_cast<Index>(centre + support + 0.5));
    row.clear();
    double sum = 0;
    for (Index k = first; k < last; ++k) {
      const double distance = std::abs((static_cast<double>(k) - centre + 0.5) * inverse);
      row.push_back(std::max(0.0, 1 - distance));
      sum += row.back();
    }
    taps.outputs.push_back({first, last - first, std::ssize(taps.weights)});
    for (const double w : row)
      taps.weights.push_back(static_cast<std::int32_t>(0.5 + w / sum * (1 << weight_bits)));
  }
  return taps;
}

// The weighted sum of pixels that are `stride` bytes apart.
std::uint8_t weighted(const std::uint8_t* in, Index stride, const std::int32_t* weights, Index n) {
  std::int32_t sum = 1 << (weight_bits - 1);
  for (Index k = 0; k < n; ++k) sum += in[k * stride] * weights[k];
  return static_cast<std::uint8_t>(std::clamp(sum >> weight_bits, 0, 255));
}

}  // namespace

Dense resized(const Dense& image, Index height, Index width, const ImageCrop& crop) {
  const Index h = image.extents[0], w = image.extents[1], channels = image.extents[2];
  const Taps across = taps_of(w, width, crop.left, crop.width);
  const Taps down = taps_of(h, height, crop.top, crop.height);
  if (down.outputs.empty() || across.outputs.empty()) return unwritten_image(0, 0, channels);
  const Index top = down.outputs.front().first;
  const Index bottom = down.outputs.back().first + down.outputs.back().count;
  Dense columns = unwritten_image(bottom - top, crop.width, channels);
  const std::uint8_t* in = image.values.as<std::uint8_t>().data() + top * w * channels;
  std::uint8_t* out = columns.values.mutate<std::uint8_t>().data();
  for (Index y = top; y < bottom; ++y, in += w * channels)
    for (const Taps::Of& t : across.outputs)
      for (Index c = 0; c < channels; ++c)
        *out++ =
            weighted(in + t.first * channels + c, channels, &across.weights[t.weights], t.count);
  Dense y = unwritten_image(crop.height, crop.width, channels);
  const Index row = crop.width * channels;
  in = columns.values.as<std::uint8_t>().data();
  out = y.values.mutate<std::uint8_t>().data();
  for (const Taps::Of& t : down.outputs)
    for (Index k = 0; k < row; ++k)
      *out++ = weighted(in + (t.first - top) * row + k, row, &down.weights[t.weights], t.count);
  return y;
}

Dense resized(const Dense& image, Index height, Index width) {
  return resized(image, height, width, {0, 0, height, width});
}

Dense centre_of(const Dense& image, Index shorter, Index size) {
  const Index h = image.extents[0], w = image.extents[1];
  const Index height = h <= w ? shorter : shorter * h / w;
  const Index width = h <= w ? shorter * w / h : shorter;
  // Half of the excess; a tie rounds to even.
  const auto before = [size](Index n) {
    const Index over = n - size;
    return over / 2 + (over % 2 == 1 && over / 2 % 2 == 1 ? 1 : 0);
  };
  return resized(image, height, width, {before(height), before(width), size, size});
}

}  // namespace sten
