// SPDX-License-Identifier: Apache-2.0
// Interleaved bfloat16 activations: two features of a token side by side, as dot-product
// instructions read them.
#pragma once
#include "kernels/interleaved.h"
#include "libsten/compute/product/panels.h"

namespace sten {

// Features are padded so that tiles have whole rows.
inline constexpr Index tile_features = 32;
inline Index padded_features(Index features) {
  return ceil_div(features, tile_features) * tile_features;
}

// [panels, padded_features(features) / 2, lanes, 2]: panels of panel_width tokens, one narrow
// panel, or a single token, whose features are contiguous. Features from `features` on are 0.
// Memory for tokens beyond the last must exist but has no meaning. Aligned to 64 bytes.
template <class T>
struct InterleavedOf {
  Index features, tokens;
  T* at;

  Index lanes() const { return lanes_of(tokens); }
  // Rows of pairs in a panel.
  Index rows() const { return padded_features(features) / 2; }
  // Elements from one row of pairs to the next.
  Index stride() const { return 2 * lanes(); }
  Index panel_size() const { return rows() * stride(); }
  // Number of elements.
  Index size() const { return ceil_div(tokens, lanes()) * panel_size(); }
  // Pointer to features k and k + 1 of a token, which must be a multiple of lanes(), or of 16
  // within a panel.
  T* tile(Index k, Index token) const {
    return at + token / lanes() * panel_size() + k / 2 * stride() + token % lanes() * 2;
  }
};
using Interleaved = InterleavedOf<const std::uint16_t>;
using InterleavedOut = InterleavedOf<std::uint16_t>;
inline Index interleaved_size(Index features, Index tokens) {
  return Interleaved{features, tokens, nullptr}.size();
}

// Row-major bfloat16: ActivationLayout::features or tokens.
using Activations16 = ActivationsOf<const std::uint16_t>;

// Epilogue with an interleaved residual.
struct InterleavedEpilogue {
  float scale = 1;
  const float* bias = nullptr;              // [features]
  const std::uint16_t* residual = nullptr;  // layout of y; either y itself or without overlap
  kernels::Activation activation = kernels::Activation::none;

  bool does_nothing() const {
    return scale == 1 && !bias && !residual && activation == kernels::Activation::none;
  }
};

// Converts x to y, with the same features and tokens; rounds float32 (kernels/interleaved.h). On
// threads().
void to_interleaved(const Activations& x, const InterleavedOut& y);
void to_interleaved(const Activations16& x, const InterleavedOut& y);
// The inverse, exact. On threads().
void from_interleaved(const Interleaved& x, const ActivationsOut& y);

// Reads features k0 to k0 + count of `panels` panels from `token` on, or of all remaining tokens,
// to tiles [padded_features(count) / 2, lanes, 2] that are `step` elements apart. k0 is even; lanes
// is panel_width or narrow_panel_width, or 1 for a single token.
void read_interleaved(const Activations& x, Index k0, Index count, Index token, Index lanes,
                      std::uint16_t* tile, Index panels = 1, Index step = 0);
void read_interleaved(const Activations16& x, Index k0, Index count, Index token, Index lanes,
                      std::uint16_t* tile, Index panels = 1, Index step = 0);

// Writes activation(scale * tile + bias + residual), rounded, for features k0 to k0 + count and
// y.lanes() tokens from `token` on. tile: [count, y.lanes()], is overwritten. k0 is even, and so is
// count except for the last features.
void write_interleaved(float* tile, Index k0, Index count, Index token, const InterleavedOut& y,
                       const InterleavedEpilogue& epilogue);

// The epilogue of a product that writes Y.
template <class Y>
struct EpilogueFor {
  using Type = Epilogue;
};
template <>
struct EpilogueFor<InterleavedOut> {
  using Type = InterleavedEpilogue;
};

}  // namespace sten
