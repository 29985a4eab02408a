// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/interleaved.h"

#include <algorithm>

#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

// Features per step, such that their tile stays in the L1 cache.
constexpr Index converted_features = 64;

auto by_features(const Activations&) { return kernels::interleaved().round_panels; }
auto by_tokens(const Activations&) { return kernels::interleaved().round_tokens; }
auto by_features(const Activations16&) { return kernels::interleaved().interleaved_panels; }
auto by_tokens(const Activations16&) { return kernels::interleaved().interleave_tokens; }

template <class A>
void read_interleaved_of(const A& x, Index k0, Index count, Index token, Index lanes,
                         std::uint16_t* tile, Index panels, Index step) {
  const Index tokens = std::min(panels * lanes, x.tokens - token), stride = 2 * lanes;
  // The features of a single token are contiguous in both layouts.
  if (x.layout == ActivationLayout::tokens ||
      (x.layout == ActivationLayout::features && x.tokens == 1))
    for (Index p = 0; p * lanes < tokens; ++p)
      by_tokens(x)(x.tile(k0, token + p * lanes), x.stride(), count,
                   std::min(lanes, tokens - p * lanes), tile + p * step, stride);
  else
    by_features(x)(x.tile(k0, token), x.stride(), count, tokens, tile, stride, step);
  const Index rows = ceil_div(count, Index{2});
  for (Index p = 0; p < panels; ++p)
    std::fill_n(tile + p * step + rows * stride, (padded_features(count) / 2 - rows) * stride,
                std::uint16_t{0});
}

// Calls f(first feature, number of features, token) for all tiles.
template <class F>
void each_tile(Index features, Index tokens, Index lanes, F&& f) {
  const Index parts = ceil_div(features, converted_features);
  parallel_for(ceil_div(tokens, lanes) * parts, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index k = i % parts * converted_features;
      f(k, std::min(converted_features, features - k), i / parts * lanes);
    }
  });
}

template <class A>
void to_interleaved_of(const A& x, const InterleavedOut& y) {
  each_tile(x.features, x.tokens, y.lanes(), [&](Index k, Index count, Index token) {
    read_interleaved(x, k, count, token, y.lanes(), y.tile(k, token));
  });
}

}  // namespace

void to_interleaved(const Activations& x, const InterleavedOut& y) { to_interleaved_of(x, y); }
void to_interleaved(const Activations16& x, const InterleavedOut& y) { to_interleaved_of(x, y); }

void from_interleaved(const Interleaved& x, const ActivationsOut& y) {
  each_tile(x.features, x.tokens, x.lanes(), [&](Index k, Index count, Index token) {
    const Index lanes = x.lanes();
    float tile[converted_features * panel_width];
    kernels::interleaved().widen_features(x.tile(k, token), x.stride(), count, lanes, tile, lanes);
    write_tile(tile, k, count, token, lanes, false, y, {});
  });
}

void read_interleaved(const Activations& x, Index k0, Index count, Index token, Index lanes,
                      std::uint16_t* tile, Index panels, Index step) {
  read_interleaved_of(x, k0, count, token, lanes, tile, panels, step);
}
void read_interleaved(const Activations16& x, Index k0, Index count, Index token, Index lanes,
                      std::uint16_t* tile, Index panels, Index step) {
  read_interleaved_of(x, k0, count, token, lanes, tile, panels, step);
}

void write_interleaved(float* tile, Index k0, Index count, Index token, const InterleavedOut& y,
                       const InterleavedEpilogue& epilogue) {
  const Index lanes = y.lanes();
  if (!epilogue.does_nothing()) {
    thread_local Scratch memory;
    float* residual = nullptr;
    if (epilogue.residual) {
      residual = memory.of(count * lanes);
      const Interleaved other{y.features, y.tokens, epilogue.residual};
      kernels::interleaved().widen_features(other.tile(k0, token), y.stride(), count, lanes,
                                            residual, lanes);
    }
    kernels::epilogue().finish(tile, lanes, count, lanes, epilogue.scale,
                               epilogue.bias ? epilogue.bias + k0 : nullptr, residual, lanes,
                               epilogue.activation);
  }
  std::uint16_t* to = y.tile(k0, token);
  kernels::interleaved().round_features(tile, lanes, count, lanes, to, y.stride());
  if (k0 + count < y.features) return;
  const Index rows = ceil_div(count, Index{2}), last = y.rows() - k0 / 2;
  std::fill_n(to + rows * y.stride(), (last - rows) * y.stride(), std::uint16_t{0});
}

}  // namespace sten
