// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/shapes.h"

#include <algorithm>
#include <cstdlib>

#include "libsten/core/base/error.h"
#include "libsten/core/base/memory_left.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/random.h"

namespace sten {
namespace {

// In eighths of a pixel from the centre of a shape of radius `r`.
bool is_inside(Index shape, Index x, Index y, Index r) {
  const Index u = std::abs(x), v = std::abs(y), most = std::max(u, v), least = std::min(u, v);
  const Index square = u * u + v * v;
  switch (shape) {
    case 0:  // disc
      return square <= r * r;
    case 1:  // ring
      return square <= r * r && 64 * square >= 25 * r * r;
    case 2:  // square
      return 8 * most <= 7 * r;
    case 3:  // frame
      return 8 * most <= 7 * r && 2 * most >= r;
    case 4:  // up
      return 2 * u <= y + r && y <= r;
    case 5:  // down
      return 2 * u <= r - y && y >= -r;
    case 6:  // plus
      return 4 * least <= r && most <= r;
    case 7:  // cross
      return 3 * (most - least) <= r && most <= r;
    case 8:  // diamond
      return u + v <= r;
    default:  // bars
      return u <= r && 8 * v >= 3 * r && 8 * v <= 7 * r;
  }
}

// A sequence of random integers.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  // From `low` to `high`, inclusive.
  Index between(Index low, Index high) {
    const auto n = static_cast<std::uint64_t>(high - low + 1);
    return low + static_cast<Index>(random_bits(seed_, next_++) % n);
  }

 private:
  std::uint64_t seed_, next_ = 0;
};

using Colour = std::array<Index, 3>;

Colour draw_colour(Draws& d) {
  return {d.between(40, 215), d.between(40, 215), d.between(40, 215)};
}

Index distance(const Colour& a, const Colour& b) {
  return std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) + std::abs(a[2] - b[2]);
}

void draw_shape(Index shape, std::uint64_t seed, const ShapesOptions& o, std::uint8_t* out) {
  Draws d(seed);
  const Index r = d.between(2 * o.size, 3 * o.size);  // 1/4 to 3/8 of a side
  const Index middle_x = d.between(r, 8 * o.size - r), middle_y = d.between(r, 8 * o.size - r);
  const Colour ground = draw_colour(d);
  Colour ink = draw_colour(d);
  for (int tries = 0; tries < 20 && distance(ink, ground) < 150; ++tries) ink = draw_colour(d);
  const Index slope_x = d.between(-40, 40), slope_y = d.between(-40, 40);  // over the whole side
  for (Index y = 0; y < o.size; ++y)
    for (Index x = 0; x < o.size; ++x) {
      Index covered = 0;  // of 16 points
      for (Index k = 0; k < 16; ++k)
        covered += is_inside(shape, 8 * x + 2 * (k % 4) + 1 - middle_x,
                             8 * y + 2 * (k / 4) + 1 - middle_y, r);
      const Index shade = (slope_x * (2 * x - o.size) + slope_y * (2 * y - o.size)) / (2 * o.size);
      for (std::size_t c = 0; c < 3; ++c) {
        const Index value = (covered * ink[c] + (16 - covered) * (ground[c] + shade)) / 16;
        *out++ = static_cast<std::uint8_t>(
            std::clamp<Index>(value + d.between(-o.noise, o.noise), 0, 255));
      }
    }
}

}  // namespace

Examples draw_shapes(const ShapesOptions& o) {
  if (o.count < 1 || o.size < 8 || o.size > 256 || o.noise < 0 || o.noise > 255)
    fail_usage("shapes: cannot draw {0} images of {1} x {1} pixels with noise {2}", o.count, o.size,
               o.noise);
  const Index bytes = 3 * o.size * o.size;
  check_memory(static_cast<double>(o.count) * static_cast<double>(bytes),
               fmt::format("{0} images of {1} x {1} pixels", o.count, o.size));
  Examples all{{{o.count, o.size, o.size, 3}, Values::uninitialized(DType::U8, o.count * bytes)},
               {{o.count}, Values::uninitialized(DType::I64, o.count)}};
  std::uint8_t* pixels = all.features.values.mutate<std::uint8_t>().data();
  std::int64_t* labels = all.labels.values.mutate<std::int64_t>().data();
  const std::uint64_t seed = seed_for(o.seed, "shapes");
  parallel_for(o.count, 64, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      labels[i] = i % std::ssize(shape_names);
      draw_shape(labels[i], random_bits(seed, static_cast<std::uint64_t>(i)), o,
                 pixels + i * bytes);
    }
  });
  return all;
}

}  // namespace sten
