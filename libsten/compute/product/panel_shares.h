// SPDX-License-Identifier: Apache-2.0
// Distribution of a product over threads.
#pragma once
#include <algorithm>
#include <functional>

#include "libsten/compute/product/panels.h"
#include "libsten/core/base/parallel.h"

namespace sten {

// Some tokens, from a multiple of panel_width on, times some units of A's rows.
struct PanelShare {
  Index first, last;  // tokens
  Index begin, end;   // units
};

// Whether y is too large to stay in a cache.
inline bool is_streamed(const ActivationsOut& y) {
  constexpr Index most_cached_bytes = Index{8} << 20;
  return y.features * y.tokens * Index{sizeof(float)} > most_cached_bytes;
}

// Calls f(share) on threads() for shares that cover the product. A unit has unit_rows rows. bands:
// divides rows such that several panels share A's slab in cache; requires x in panels, since each
// band reads x.
template <class F>
void share_panels(Index tokens, Index units, Index unit_rows, bool bands, F&& f) {
  const Index panels = panels_of(tokens);
  if (panels == 0 || units == 0) return;
  // Panels of y that stay in the L2 cache together.
  constexpr Index most_bytes = Index{1} << 20, least_together = 4;
  const Index panel_bytes = units * unit_rows * panel_width * Index{sizeof(float)};
  Index group = std::clamp<Index>(most_bytes / panel_bytes, 1, 8);
  Index in_bands = 1;
  if (bands && group < least_together) {
    group = std::min(least_together, panels);
    in_bands = std::min(units, ceil_div(group * panel_bytes, most_bytes));
  }
  Index groups = ceil_div(panels, std::min(group, ceil_div(panels, threads())));
  // The same number per thread.
  if (groups > threads()) groups = std::min(panels, ceil_div(groups, threads()) * threads());
  // If there are fewer panels than threads, divides rows too.
  const Index parts = std::min<Index>(
      units, std::max(in_bands, groups < threads() ? ceil_div(threads(), groups) : 1));
  const auto some = [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const Index i = t / parts, part = t % parts;
      f(PanelShare{i * panels / groups * panel_width,
                   std::min(tokens, (i + 1) * panels / groups * panel_width), part * units / parts,
                   (part + 1) * units / parts});
    }
  };
  parallel_for(groups * parts, 1, std::cref(some));  // by reference, since a copy might allocate
}

}  // namespace sten
