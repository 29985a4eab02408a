// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/rotation_cache.h"

#include <algorithm>

#include "libsten/compute/ops/attention/rotary.h"
#include "libsten/compute/ops/common/indices.h"
#include "libsten/compute/product/panels.h"

namespace sten::execution {

RotationPanels::RotationPanels(const Dense& at, const Dense& by, double scale, Index tokens)
    : tokens(tokens),
      pairs(by.size()),
      scale(scale),
      positions(at.values),
      frequencies(by.values),
      cos(panels_of(tokens) * pairs * lanes_of(tokens)),
      sin(cos.size()) {
  const std::vector<Index> rows = integers_of("rotary", "positions", at);
  const Rotations<float> r(rows, by.values.as<float>(), scale);
  const Index lanes = lanes_of(tokens);
  float *c = cos.mutate(), *s = sin.mutate();
  std::fill_n(c, cos.size(), static_cast<float>(scale));
  std::fill_n(s, sin.size(), 0.0f);
  for (Index t = 0; t < tokens; ++t) {
    const Index from = t % std::ssize(rows) * pairs, to = t / lanes * pairs * lanes + t % lanes;
    for (Index i = 0; i < pairs; ++i) {
      c[to + i * lanes] = r.cos[from + i];
      s[to + i * lanes] = r.sin[from + i];
    }
  }
}

const RotationPanels& RotationCache::of(const Dense& positions, const Dense& frequencies,
                                        double scale, Index tokens) {
  const auto at = [](const Values& v) { return v.bytes().data(); };
  for (const RotationPanels& r : all_)
    if (at(r.positions) == at(positions.values) && at(r.frequencies) == at(frequencies.values) &&
        r.pairs == frequencies.size() && r.scale == scale && r.tokens == tokens)
      return r;
  return all_.emplace_back(positions, frequencies, scale, tokens);
}

}  // namespace sten::execution
