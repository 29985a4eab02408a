// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/nm_sampled.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "libsten/compute/product/nm_positions_packed.h"
#include "libsten/compute/product/position_shares.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

constexpr Index two_panels = 2 * panel_width;

// Some features of two panels, or of the last panel, in place or copied.
class TwoPanels {
 public:
  // `padded`: number of features needed. Features and tokens beyond the last are 0.
  const kernels::PanelsIn& read(const Activations& x, Index k0, Index count, Index padded,
                                Index token) {
    const Index tokens = std::min(two_panels, x.tokens - token);
    const bool whole = tokens % panel_width == 0 && count == padded;
    const bool in_place = whole && x.is_in_place(panel_width);
    float* to = in_place ? nullptr : memory_.of(2 * padded * panel_width);
    in_.count = panels_of(tokens);
    for (Index p = 0; p < in_.count; ++p, token += panel_width) {
      if (in_place) {
        in_.of[p] = x.tile(k0, token);
        continue;
      }
      if (!whole) std::fill_n(to, padded * panel_width, 0.0f);
      read_tile(x, k0, count, token, panel_width, to);
      in_.of[p] = to;
      to += padded * panel_width;
    }
    return in_;
  }

 private:
  Scratch memory_;
  kernels::PanelsIn in_{};
};

// Computes some blocks and slabs for all tokens.
void sample_some(const NmPositionsPacked& a, const Activations& dy, const Activations& x,
                 Index begin, Index end, Index slab0, Index slab1, float* sums) {
  thread_local TwoPanels rows, columns;
  thread_local Scratch work_memory;
  Index most = 0;
  for (Index s = slab0; s < slab1; ++s) most = std::max(most, a.slab_cols(s) * a.n);
  constexpr Index lanes = kernels::nm_sample_lanes;
  float* const work = work_memory.of(ceil_div(most, lanes) * lanes * lanes);
  const Index in_band = std::max<Index>(1, 1024 / a.m);  // rows of dy stay in the L2 cache
  for (Index token = 0; token < x.tokens; token += two_panels)
    for (Index b = begin; b < end; b += in_band) {
      const Index last = std::min(end, b + in_band), row = b * a.m;
      const kernels::PanelsIn& of_dy =
          rows.read(dy, row, std::min(a.rows, last * a.m) - row, (last - b) * a.m, token);
      for (Index s = slab0; s < slab1; ++s) {
        const Index cols = a.slab_cols(s);
        kernels::nm_sample().sample(a.strips(s, b, last),
                                    columns.read(x, a.slabs[s], cols, cols, token), of_dy, work,
                                    sums + a.first(s, b) * a.n);
      }
    }
}

template <class Layout>
bool takes(const Layout& a) {
  return a.axis == 0 && NmPositionsPacked::takes(a.n, a.m);
}

}  // namespace

bool supports_nm_sampled(const Tensor& a, const ProductCall&) {
  return a.is<Nmg>() ? takes(a.as<Nmg>()) : a.is<Nm>() && takes(a.as<Nm>());
}

Values nm_sampled(const Tensor& a, const Activations& dy, const Activations& x) {
  const auto packed = a.of_positions().get<NmPositionsPacked>([&] {
    const Index count = a.values()->size();
    if (count >= std::numeric_limits<std::uint32_t>::max())
      fail_usage("product: {} values do not fit 32-bit indices", count);
    return a.is<Nmg>() ? NmPositionsPacked(a.as<Nmg>()) : NmPositionsPacked(a.as<Nm>());
  });
  const Index count = std::ssize(packed->slots);
  std::vector<float> sums(count);
  share_positions(packed->rows, packed->cols, packed->blocks, packed->slab_count(),
                  [&](Index begin, Index end, Index slab0, Index slab1) {
                    sample_some(*packed, dy, x, begin, end, slab0, slab1, sums.data());
                  });
  Values values(DType::F32, a.values()->size());
  float* const to = values.mutate<float>().data();
  const std::uint32_t* const slots = packed->slots.data();
  parallel_for(count, Index{1} << 14, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      if (slots[i] != NmPositionsPacked::none) to[slots[i]] = sums[i];
  });
  return values;
}

}  // namespace sten
