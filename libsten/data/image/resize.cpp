// SPDX-License-Identifier: Apache-2.0
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
  bool is_copy = false;  // each output is one input

  Index begin() const { return outputs.front().first; }
  Index end() const { return outputs.back().first + outputs.back().count; }
  // For an axis that starts at input `i`.
  Taps from(Index i) const {
    Taps moved = *this;
    for (Of& t : moved.outputs) t.first -= i;
    return moved;
  }
};

// Taps of outputs [begin, begin + n) of an axis resized from `in` to `out`.
Taps taps_of(Index in, Index out, Index begin, Index n) {
  Taps taps;
  taps.is_copy = in == out;
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double support = std::max(1.0, scale), inverse = 1 / support;
  std::vector<double> row;
  for (Index i = begin; i < begin + n; ++i) {
    if (taps.is_copy) {
      taps.outputs.push_back({i, 1, 0});
      continue;
    }
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
    // Weights of 0 at the ends are omitted.
    const auto used = std::ranges::find_if(row, [](double w) { return w > 0; });
    auto end = row.end();
    while (end - used > 1 && end[-1] == 0) --end;
    taps.outputs.push_back({first + (used - row.begin()), end - used, std::ssize(taps.weights)});
    for (auto w = used; w < end; ++w)
      taps.weights.push_back(static_cast<std::int32_t>(0.5 + *w / sum * (1 << weight_bits)));
  }
  return taps;
}

constexpr std::int32_t half = 1 << (weight_bits - 1);

std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> weight_bits, 0, 255));
}

// Pixels in rows that are `stride` bytes apart.
struct Pixels {
  const std::uint8_t* at;
  Index stride;
};

// Resizes rows of C channels.
template <int C>
void resize_rows(Pixels in, Index rows, const Taps& taps, std::uint8_t* out) {
  for (Index y = 0; y < rows; ++y, in.at += in.stride)
    for (const Taps::Of& t : taps.outputs) {
      const std::uint8_t* x = in.at + t.first * C;
      const std::int32_t* w = taps.weights.data() + t.weights;
      std::int32_t sums[C];
      std::fill_n(sums, C, half);
      if (t.count == 2)
        for (int c = 0; c < C; ++c) sums[c] += x[c] * w[0] + x[C + c] * w[1];
      else
        for (Index k = 0; k < t.count; ++k, x += C)
          for (int c = 0; c < C; ++c) sums[c] += x[c] * w[k];
      for (int c = 0; c < C; ++c) *out++ = rounded(sums[c]);
    }
}

// Resizes columns of `bytes` bytes.
void resize_columns(Pixels in, Index bytes, const Taps& taps, std::uint8_t* out) {
  std::vector<std::int32_t> sums(static_cast<std::size_t>(bytes));
  for (const Taps::Of& t : taps.outputs) {
    const std::uint8_t* x = in.at + t.first * in.stride;
    const std::int32_t* w = taps.weights.data() + t.weights;
    if (t.count == 2) {
      const std::uint8_t* const next = x + in.stride;
      for (Index k = 0; k < bytes; ++k) out[k] = rounded(half + x[k] * w[0] + next[k] * w[1]);
    } else {
      std::ranges::fill(sums, half);
      for (Index i = 0; i < t.count; ++i, x += in.stride)
        for (Index k = 0; k < bytes; ++k) sums[k] += x[k] * w[i];
      for (Index k = 0; k < bytes; ++k) out[k] = rounded(sums[k]);
    }
    out += bytes;
  }
}

}  // namespace

Dense resized(const Dense& image, const ImageCrop& from, Index height, Index width,
              const ImageCrop& crop) {
  const Index channels = image.extents[2], stride = image.extents[1] * channels;
  const Taps across = taps_of(from.width, width, crop.left, crop.width);
  const Taps down = taps_of(from.height, height, crop.top, crop.height);
  Dense y = unwritten_image(crop.height, crop.width, channels);
  if (y.size() == 0) return y;
  std::uint8_t* const out = y.values.mutate<std::uint8_t>().data();
  const Pixels in{image.values.as<std::uint8_t>().data() + from.top * stride + from.left * channels,
                  stride};
  const Index row = crop.width * channels;
  const auto resize_all_rows = [&](const Pixels& x, Index rows, const Taps& by, std::uint8_t* to) {
    channels == 1 ? resize_rows<1>(x, rows, by, to) : resize_rows<3>(x, rows, by, to);
  };
  if (across.is_copy) {
    const Pixels x{in.at + crop.left * channels, stride};
    if (!down.is_copy) {
      resize_columns(x, row, down, out);
      return y;
    }
    for (Index i = 0; i < crop.height; ++i)
      std::copy_n(x.at + (crop.top + i) * stride, row, out + i * row);
  } else if (down.is_copy) {
    resize_all_rows({in.at + crop.top * stride, stride}, crop.height, across, out);
  } else if (height < from.height && from.height - height > 2 * (from.width - width)) {
    const Index left = across.begin() * channels, bytes = across.end() * channels - left;
    std::vector<std::uint8_t> rows(static_cast<std::size_t>(crop.height * bytes));
    resize_columns({in.at + left, stride}, bytes, down, rows.data());
    resize_all_rows({rows.data(), bytes}, crop.height, across.from(across.begin()), out);
  } else {
    const Index top = down.begin(), n = down.end() - top;
    std::vector<std::uint8_t> columns(static_cast<std::size_t>(n * row));
    resize_all_rows({in.at + top * stride, stride}, n, across, columns.data());
    resize_columns({columns.data(), row}, row, down.from(top), out);
  }
  return y;
}

Dense resized(const Dense& image, const ImageCrop& from, Index height, Index width) {
  return resized(image, from, height, width, {0, 0, height, width});
}
Dense resized(const Dense& image, Index height, Index width) {
  return resized(image, {0, 0, image.extents[0], image.extents[1]}, height, width);
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
  return resized(image, {0, 0, h, w}, height, width, {before(height), before(width), size, size});
}

}  // namespace sten
