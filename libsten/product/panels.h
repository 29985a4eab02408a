// Activations of N tokens with K features, and how they lie.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/epilogue.h"
#include "libsten/base/shape.h"

namespace sten {

using kernels::narrow_panel_width, kernels::panel_width;

enum class ActivationLayout {
  features,  // row-major [K, N]
  tokens,    // row-major [N, K]
  panels,    // [panels_of(N), K, panel_width]: panel_width tokens side by side; what is beyond the
             // last token means nothing, but has to be there. Aligned as Array is, they are worked
             // with where they lie, else they are copied.
  narrow_panel,  // [K, narrow_panel_width]: one narrow panel, of narrow_panel_width tokens at most
};
inline bool is_aligned(const float* panels) {
  return reinterpret_cast<std::uintptr_t>(panels) % 64 == 0;
}

inline Index panels_of(Index tokens) { return ceil_div(tokens, panel_width); }
// Floats of activations in panels.
inline Index panels_size(Index features, Index tokens) {
  return panels_of(tokens) * features * panel_width;
}

// How many tokens lie side by side where so many are in panels, or in a narrow one.
inline Index lanes_of(Index tokens) {
  return tokens <= narrow_panel_width ? narrow_panel_width : panel_width;
}
inline ActivationLayout activation_layout_of(Index tokens) {
  return tokens <= narrow_panel_width ? ActivationLayout::narrow_panel : ActivationLayout::panels;
}

// Activations of K features and N tokens, and where they are.
template <class F>
struct ActivationsOf {
  ActivationLayout layout;
  Index features, tokens;
  F* at;

  // Where the first of some tokens, from a multiple of panel_width on, has feature k.
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
  // From one row of such a tile to the next, of features or of tokens.
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
  // Whether a kernel of so many lanes can work where they lie.
  bool is_in_place(Index lanes) const {
    return layout == (lanes == narrow_panel_width ? ActivationLayout::narrow_panel
                                                  : ActivationLayout::panels) &&
           is_aligned(at);
  }
};
using Activations = ActivationsOf<const float>;
using ActivationsOut = ActivationsOf<float>;

// What is made of a product on its way to y: activation(scale * product + bias + residual). With y
// for residual products are added to it.
struct Epilogue {
  float scale = 1;
  const float* bias = nullptr;      // [features]
  const float* residual = nullptr;  // as y lies; may be y, else it does not overlap with it
  kernels::Activation activation = kernels::Activation::none;

  bool stream = false;  // y is not read soon: past the caches

  bool does_nothing() const {
    return scale == 1 && !bias && !residual && activation == kernels::Activation::none;
  }
};

// A tile of features k0 to k0 + count and `width` tokens from `token` on, or all that are left,
// to [count, width]. width: panel_width, or less where the form is not panels; narrow_panel_width for few.
void read_tile(const Activations& x, Index k0, Index count, Index token, Index width, float* tile);

// And back, as the epilogue has it; the tile is changed. `stream`: past the caches; stream_done()
// has to follow before others read it.
void write_tile(float* tile, Index k0, Index count, Index token, Index width, bool stream,
                const ActivationsOut& y, const Epilogue& epilogue);
void stream_done();

}  // namespace sten
