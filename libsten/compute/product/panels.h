// SPDX-License-Identifier: Apache-2.0
// Activations of N tokens with K features, and their layouts in memory.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/epilogue.h"
#include "libsten/core/base/shape.h"

namespace sten {

using kernels::narrow_panel_width, kernels::panel_width;

enum class ActivationLayout {
  features,  // row-major [K, N]
  tokens,    // row-major [N, K]
  panels,    // [panels_of(N), K, panel_width]: panel_width tokens side by side. Memory for tokens
             // beyond the last must exist but has no meaning. Used in place if aligned like Array,
             // else copied.
  narrow_panel,  // [K, narrow_panel_width]: one narrow panel, of at most narrow_panel_width tokens
};
inline bool is_aligned(const float* panels) {
  return reinterpret_cast<std::uintptr_t>(panels) % 64 == 0;
}

inline Index panels_of(Index tokens) { return ceil_div(tokens, panel_width); }
// Floats of activations in panels.
inline Index panels_size(Index features, Index tokens) {
  return panels_of(tokens) * features * panel_width;
}

// Floats of whole cache lines, so that values one after the other stay aligned.
inline Index whole_lines(Index floats) { return ceil_div(floats, Index{16}) * 16; }

// Lanes of the panels that kernels take for this number of tokens: narrow ones for a small batch.
inline Index kernel_lanes_of(Index tokens) {
  return tokens <= narrow_panel_width ? narrow_panel_width : panel_width;
}
// Tokens side by side in memory. The features of a single token are contiguous.
inline Index lanes_of(Index tokens) { return tokens == 1 ? 1 : kernel_lanes_of(tokens); }
inline ActivationLayout activation_layout_of(Index tokens) {
  if (tokens == 1) return ActivationLayout::tokens;
  return tokens <= narrow_panel_width ? ActivationLayout::narrow_panel : ActivationLayout::panels;
}

// Activations of K features and N tokens in memory.
template <class F>
struct ActivationsOf {
  ActivationLayout layout;
  Index features, tokens;
  F* at;

  // Pointer to feature k of a token, which must be a multiple of panel_width.
  F* tile(Index k, Index token) const {
    switch (layout) {
      case ActivationLayout::features:
        return at + k * tokens + token;
      case ActivationLayout::tokens:
        return at + token * features + k;
      case ActivationLayout::narrow_panel:
        return at + token + k * narrow_panel_width;
      default:
        return at + token * features + k * panel_width;
    }
  }
  // Distance between rows of such a tile: of features or of tokens.
  Index stride() const {
    switch (layout) {
      case ActivationLayout::features:
        return tokens;
      case ActivationLayout::tokens:
        return features;
      case ActivationLayout::narrow_panel:
        return narrow_panel_width;
      default:
        return panel_width;
    }
  }
  // Whether a kernel with this many lanes can use the activations in place.
  bool is_in_place(Index lanes) const {
    return layout == (lanes == narrow_panel_width ? ActivationLayout::narrow_panel
                                                  : ActivationLayout::panels) &&
           is_aligned(at);
  }
};
using Activations = ActivationsOf<const float>;
using ActivationsOut = ActivationsOf<float>;

// Computes activation(scale * product + bias + residual) on the way to y. With y as residual, the
// product is added to y.
struct Epilogue {
  float scale = 1;
  const float* bias = nullptr;      // [features]
  const float* residual = nullptr;  // layout of y; either y itself or without overlap
  kernels::Activation activation = kernels::Activation::none;

  bool stream = false;  // y is not read soon: bypasses the caches

  bool does_nothing() const {
    return scale == 1 && !bias && !residual && activation == kernels::Activation::none;
  }
};

// Reads features k0 to k0 + count and `width` tokens from `token` on, or all remaining tokens, to a
// tile [count, width]. width: panel_width, or less for layouts other than panels;
// narrow_panel_width for a narrow panel.
void read_tile(const Activations& x, Index k0, Index count, Index token, Index width, float* tile);

// Writes a tile, which is overwritten, with the epilogue. stream: bypasses the caches; call
// stream_done() before other threads read y.
void write_tile(float* tile, Index k0, Index count, Index token, Index width, bool stream,
                const ActivationsOut& y, const Epilogue& epilogue);
void stream_done();

}  // namespace sten
