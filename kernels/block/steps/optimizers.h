// SPDX-License-Identifier: Apache-2.0
// Optimizer steps, elementwise, in one pass over a weight, its gradient and its optimizer state.
#pragma once
#include <cmath>

#include "kernels/block/elementwise/groups.h"
#include "kernels/block/step_functions.h"
#include "kernels/block/steps/rounded.h"

namespace sten::kernels {

struct AdamWRule {
  AdamWStep s;
  float *m, *v;

  STEN_DEVICE void operator()(std::int64_t n, std::int64_t group, Group<float>& w,
                              const Group<float>& g) const {
    Group<float> first = load_group(m, n, group), second = load_group(v, n, group);
    for (int i = 0; i < 8; ++i) {
      const float mi = std::fma(s.toward1, g.at[i] - first.at[i], first.at[i]);
      const float vi = std::fma(s.toward2, std::fma(g.at[i], g.at[i], -second.at[i]), second.at[i]);
      const float by = rounded_product(s.rate, mi) / std::fma(s.root, std::sqrt(vi), s.eps);
      w.at[i] -= std::fma(s.decay, w.at[i], by);
      first.at[i] = mi;
      second.at[i] = vi;
    }
    store_group(m, n, group, first);
    store_group(v, n, group, second);
  }
};

struct SgdRule {
  SgdStep s;
  float* momentum;  // or nullptr

  STEN_DEVICE void operator()(std::int64_t n, std::int64_t group, Group<float>& w,
                              const Group<float>& g) const {
    Group<float> kept{};
    if (momentum) kept = load_group(momentum, n, group);
    for (int i = 0; i < 8; ++i) {
      const float d = g.at[i] + rounded_product(s.decay, w.at[i]);
      float by = d;
      if (momentum) {
        kept.at[i] = rounded_product(s.momentum, kept.at[i]) + d;
        by = s.is_nesterov ? d + rounded_product(s.momentum, kept.at[i]) : kept.at[i];
      }
      w.at[i] -= rounded_product(s.rate, by);
    }
    if (momentum) store_group(momentum, n, group, kept);
  }
};

// Calls rule(n, group, weights, gradients) for all groups.
template <class Rule>
struct StepGroups {
  static constexpr int threads = segment_threads, groups = segment_groups<float>;
  StepElements x;
  Rule rule;

  std::int64_t blocks() const { return segments_of(x.n, groups); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t piece) const {
    const std::int64_t first = piece * groups, left = groups_of(x.n) - first;
    b.for_each_thread([&](int t) {
      each_of(b, t, left < groups ? left : groups, [&](std::int64_t g) { step(first + g); });
    });
  }

 private:
  STEN_DEVICE void step(std::int64_t group) const {
    Group<float> g;
    if (x.offsets) {
      const Group<std::uint32_t> at = load_group(x.offsets, x.n, group);
      for (int i = 0; i < 8; ++i) g.at[i] = at.at[i] ? x.g[at.at[i] - 1] : 0.0F;
    } else {
      g = load_group(x.g, x.n, group);
    }
    if (x.bits) {
      const unsigned byte = x.bits[group];
      for (int i = 0; i < 8; ++i) g.at[i] = byte >> i & 1 ? g.at[i] : 0.0F;
    }
    if (x.scale) {
      const float by = *x.scale;
      for (int i = 0; i < 8; ++i) g.at[i] = rounded_product(by, g.at[i]);
    }
    Group<float> w = load_group(static_cast<const float*>(x.w), x.n, group);
    rule(x.n, group, w, g);
    store_group(x.w, x.n, group, w);
  }
};

}  // namespace sten::kernels
