// Activations in bfloat16, two features of a token side by side: what products of low precision take
// and give.
#pragma once
#include "kernels/interleaved.h"
#include "libsten/product/panels.h"

namespace sten {

// Features are padded so that tiles have whole rows.
inline constexpr Index tile_features = 32;
inline Index padded_features(Index features) {
  return ceil_div(features, tile_features) * tile_features;
}

// [panels_of(tokens), padded_features(features) / 2, lanes, 2]: panels of panel_width tokens, or one
// narrow panel of narrow_panel_width. Features from `features` on are 0; what is beyond the last token means
// nothing, but has to be there. Aligned to 64 bytes.
template <class T>
struct InterleavedOf {
  Index features, tokens;
  T* at;

  Index lanes() const { return lanes_of(tokens); }
  // Of pairs, in a panel.
  Index rows() const { return padded_features(features) / 2; }
  // From one row of pairs to the next, in elements.
  Index stride() const { return 2 * lanes(); }
  Index panel_size() const { return rows() * stride(); }
  // Elements in all.
  Index size() const { return ceil_div(tokens, lanes()) * panel_size(); }
  // Where the first of some tokens, from a multiple of lanes() on (or of 16 within a panel), has the
  // pair of features k and k + 1.
  T* tile(Index k, Index token) const {
    return at + token / lanes() * panel_size() + k / 2 * stride() + token % lanes() * 2;
  }
};
using Interleaved = InterleavedOf<const std::uint16_t>;
using InterleavedOut = InterleavedOf<std::uint16_t>;
inline Index interleaved_size(Index features, Index tokens) {
  return Interleaved{features, tokens, nullptr}.size();
}

// Row-major bfloat16: Form::features or Form::tokens.
using Activations16 = ActivationsOf<const std::uint16_t>;

// As Epilogue, with a residual in pairs.
struct InterleavedEpilogue {
  float scale = 1;
  const float* bias = nullptr;              // [features]
  const std::uint16_t* residual = nullptr;  // as y lies; may be y, else it does not overlap with it
  kernels::Activation activation = kernels::Activation::none;

  bool does_nothing() const {
    return scale == 1 && !bias && !residual && activation == kernels::Activation::none;
  }
};

// y of the same features and tokens as x, which is rounded where it is float32 (kernels/interleaved.h). On
// threads().
void to_interleaved(const Activations& x, const InterleavedOut& y);
void to_interleaved(const Activations16& x, const InterleavedOut& y);
// The other way, exactly. On threads().
void from_interleaved(const Interleaved& x, const ActivationsOut& y);

// Features k0 to k0 + count of the `panels` panels from `token` on, or of all tokens that are left,
// to tiles [padded_features(count) / 2, lanes, 2] that are `step` elements apart. k0 is even, and lanes
// is panel_width or narrow_panel_width.
void read_interleaved(const Activations& x, Index k0, Index count, Index token, Index lanes,
                      std::uint16_t* tile, Index panels = 1, Index step = 0);
void read_interleaved(const Activations16& x, Index k0, Index count, Index token, Index lanes,
                      std::uint16_t* tile, Index panels = 1, Index step = 0);

// activation(scale * tile + bias + residual), rounded, of features k0 to k0 + count and y.lanes()
// tokens from `token` on. The tile [count, y.lanes()] is changed. k0 is even, and so is count unless
// these are the last features.
void write_interleaved(float* tile, Index k0, Index count, Index token, const InterleavedOut& y,
                       const InterleavedEpilogue& epilogue);

}  // namespace sten
