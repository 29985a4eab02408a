// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/interleaved.h"

#include <doctest/doctest.h>

#include <cmath>

#include "libsten/core/base/array.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Offset of a feature of a token in an activation layout.
Index place_of(ActivationLayout layout, Index features, Index tokens, Index k, Index t) {
  switch (layout) {
    case ActivationLayout::features:
      return k * tokens + t;
    case ActivationLayout::tokens:
      return t * features + k;
    case ActivationLayout::narrow_panel:
      return k * narrow_panel_width + t;
    default:
      return (t / panel_width * features + k) * panel_width + t % panel_width;
  }
}
Index size_in(ActivationLayout layout, Index features, Index tokens) {
  if (layout == ActivationLayout::narrow_panel) return features * narrow_panel_width;
  return layout == ActivationLayout::panels ? panels_size(features, tokens) : features * tokens;
}
// As interleaved.h defines it.
Index interleaved_offset(Index features, Index tokens, Index k, Index t) {
  const Index lanes = tokens == 1                    ? 1
                      : tokens <= narrow_panel_width ? narrow_panel_width
                                                     : panel_width;
  return (t / lanes * (padded_features(features) / 2) + k / 2) * 2 * lanes + t % lanes * 2 + k % 2;
}

}  // namespace

TEST_CASE("every activation layout round-trips through zero-padded interleaved bfloat16") {
  for (const Index features : {0, 1, 5, 32, 70, 130})
    for (const Index tokens : {1, 5, 16, 17, 64, 130})
      for (const ActivationLayout layout :
           {ActivationLayout::features, ActivationLayout::tokens, ActivationLayout::panels,
            ActivationLayout::narrow_panel}) {
        if (layout == ActivationLayout::narrow_panel && tokens > narrow_panel_width) continue;
        CAPTURE(features);
        CAPTURE(tokens);
        CAPTURE(static_cast<int>(layout));
        Dice dice(features * 1000 + tokens);
        Array<float> x(size_in(layout, features, tokens)), back(x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
          x.mutate()[i] = static_cast<float>(dice.normal());
        Array<std::uint16_t> interleaved(interleaved_size(features, tokens));
        std::fill_n(interleaved.mutate(), interleaved.size(), std::uint16_t{0x7fc0});
        const InterleavedOut y{features, tokens, interleaved.mutate()};
        {
          const Threads two(2);
          to_interleaved(Activations{layout, features, tokens, x.data()}, y);
        }
        from_interleaved({features, tokens, interleaved.data()},
                         {layout, features, tokens, back.mutate()});
        for (Index t = 0; t < tokens; ++t) {
          for (Index k = 0; k < features; ++k) {
            const Index at = place_of(layout, features, tokens, k, t);
            const std::uint16_t wanted = kernels::round_to_bf16(x[at]);
            REQUIRE(interleaved[interleaved_offset(features, tokens, k, t)] == wanted);
            REQUIRE(back[at] == kernels::widen_bf16(wanted));
          }
          for (Index k = features; k < padded_features(features); ++k)
            REQUIRE(interleaved[interleaved_offset(features, tokens, k, t)] == 0);
        }
      }
}

TEST_CASE("interleaving bfloat16 activations keeps their bits") {
  const Index features = 37;
  Dice dice(1);
  for (const Index tokens : {1, 70}) {
    Array<std::uint16_t> x(features * tokens);
    for (std::size_t i = 0; i < x.size(); ++i)
      x.mutate()[i] = static_cast<std::uint16_t>(dice.bits());
    for (const ActivationLayout layout : {ActivationLayout::features, ActivationLayout::tokens}) {
      Array<std::uint16_t> interleaved(interleaved_size(features, tokens));
      to_interleaved(Activations16{layout, features, tokens, x.data()},
                     InterleavedOut{features, tokens, interleaved.mutate()});
      for (Index t = 0; t < tokens; ++t)
        for (Index k = 0; k < features; ++k)
          REQUIRE(interleaved[interleaved_offset(features, tokens, k, t)] ==
                  x[place_of(layout, features, tokens, k, t)]);
    }
  }
}

TEST_CASE("the epilogue of an interleaved output is computed in float32 and rounded once") {
  for (const Index features : {5, 64, 70})
    for (const Index tokens : {3, 16, 40}) {
      Dice dice(features + tokens);
      const Index lanes = lanes_of(tokens);
      Array<float> tile(features * lanes), bias(features);
      for (std::size_t i = 0; i < tile.size(); ++i)
        tile.mutate()[i] = static_cast<float>(dice.normal());
      for (Index i = 0; i < features; ++i) bias.mutate()[i] = static_cast<float>(dice.normal());
      Array<std::uint16_t> residual(interleaved_size(features, tokens)),
          interleaved(residual.size());
      for (std::size_t i = 0; i < residual.size(); ++i)
        residual.mutate()[i] = kernels::round_to_bf16(static_cast<float>(dice.normal()));
      std::fill_n(interleaved.mutate(), interleaved.size(), std::uint16_t{0x7fc0});
      const Array<float> before = tile;
      write_interleaved(tile.mutate(), 0, features, 0, {features, tokens, interleaved.mutate()},
                        {0.5f, bias.data(), residual.data(), kernels::Activation::relu});
      for (Index t = 0; t < tokens; ++t) {
        for (Index k = 0; k < features; ++k) {
          const Index at = interleaved_offset(features, tokens, k, t);
          const double wanted = std::max(
              0.0, 0.5 * before[k * lanes + t] + bias[k] + kernels::widen_bf16(residual[at]));
          REQUIRE(std::abs(kernels::widen_bf16(interleaved[at]) - wanted) <= wanted / 256 + 1e-6);
        }
        for (Index k = features; k < padded_features(features); ++k)
          REQUIRE(interleaved[interleaved_offset(features, tokens, k, t)] == 0);
      }
    }
}
