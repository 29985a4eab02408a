// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/regrow.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sten {
namespace {

// Reduces positions to the first n in the order `before`, unsorted.
template <class F>
void take_first(std::vector<Index>& positions, Index n, const F& before) {
  std::nth_element(positions.begin(), positions.begin() + n, positions.end(), before);
  positions.resize(static_cast<std::size_t>(n));
}

std::vector<double> magnitudes(const Dense& x) {
  sparsify_detail::check_prunable(x.dtype());
  std::vector<double> all(static_cast<std::size_t>(x.size()));
  with_float(x.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::abs(double{E::decode(v[i])});
  });
  return all;
}

}  // namespace

Mask Regrow::select(const Dense& x, const Hints& h) const {
  if (!h.pattern || !h.scores || h.pattern->extents != x.extents || h.scores->extents != x.extents)
    fail_usage("regrow: expected a pattern and scores of shape {}", to_string(x.extents));
  if (!(fraction >= 0 && fraction <= 1))
    fail_usage("regrow: fraction must be in [0, 1], got {}", fraction);
  Mask mask = *h.pattern;
  std::vector<Index> kept, open;
  for (Index i = 0; i < x.size(); ++i)
    if (mask[i]) kept.push_back(i);
  const auto moved = static_cast<Index>(fraction * static_cast<double>(kept.size()));
  const std::vector<double> w = magnitudes(x), g = magnitudes(*h.scores);
  take_first(kept, moved, [&](Index a, Index b) { return w[a] != w[b] ? w[a] < w[b] : a > b; });
  for (const Index i : kept) mask.set(i, false);
  for (Index i = 0; i < x.size(); ++i)
    if (!mask[i]) open.push_back(i);
  take_first(open, moved, [&](Index a, Index b) { return g[a] != g[b] ? g[a] > g[b] : a < b; });
  for (const Index i : open) mask.set(i, true);
  return mask;
}

}  // namespace sten
