// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al. 2021).
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/row_functions.h"

namespace sten::kernels {

// A thread rotates a pair of features of a token in all heads, or copies a feature that no
// frequency rotates.
struct RotatePair {
  RotaryRows g;
  const float* x;
  bool back;  // by the opposite angles
  float* y;

  STEN_HOST_DEVICE std::int64_t threads_per_token() const { return g.width - g.pairs; }
  STEN_DEVICE void operator()(std::int64_t thread) const {
    const std::int64_t token = thread / threads_per_token(),
                       i = thread - token * threads_per_token();
    const float* from = x + token * g.heads * g.width;
    float* to = y + token * g.heads * g.width;
    if (i >= g.pairs) {
      const std::int64_t feature = g.pairs + i;
      for (std::int64_t h = 0; h < g.heads; ++h)
        to[h * g.width + feature] = from[h * g.width + feature];
      return;
    }
    const float angle =
        static_cast<float>(g.positions[token % g.position_count]) * g.frequencies[i];
    const float cos = g.scale * std::cos(angle), sine = g.scale * std::sin(angle);
    const float sin = back ? -sine : sine;
    const std::int64_t p = g.is_interleaved ? 2 * i : i, q = g.is_interleaved ? p + 1 : i + g.pairs;
    for (std::int64_t h = 0; h < g.heads; ++h) {
      const float a = from[h * g.width + p], b = from[h * g.width + q];
      to[h * g.width + p] = a * cos - b * sin;
      to[h * g.width + q] = b * cos + a * sin;
    }
  }
};

template <class Grid>
struct RotaryOn {
  static void rotate(const float* x, const RotaryRows& g, bool back, float* y, Stream stream) {
    const RotatePair f{g, x, back, y};
    launch_threads(Grid(stream), g.tokens * f.threads_per_token(), f);
  }
};

}  // namespace sten::kernels
