// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/dense_panels.h"

#include <doctest/doctest.h>

#include <cmath>

#include "libsten/core/base/array.h"
#include "libsten/core/base/parallel.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

Array<float> random_floats(std::size_t n, std::uint64_t seed) {
  Dice dice(seed);
  Array<float> all(n);
  for (std::size_t i = 0; i < n; ++i) all.mutate()[i] = static_cast<float>(dice.normal());
  return all;
}

}  // namespace

TEST_CASE("dense products of panels with an epilogue match the formula on any number of threads") {
  for (const Index rows : {1, 97, 200})
    for (const Index cols : {0, 5, 300})
      for (const Index tokens : {1, 16, 64, 200}) {
        CAPTURE(rows);
        CAPTURE(cols);
        CAPTURE(tokens);
        const Array<float> a = random_floats(rows * cols, 1), bias = random_floats(rows, 2);
        const Index lanes = kernel_lanes_of(tokens);
        const ActivationLayout layout = activation_layout_of(lanes);
        const auto size = [&](Index features) { return panels_of(tokens) * features * lanes; };
        const Array<float> x = random_floats(size(cols), 3);
        const Array<float> residual = random_floats(size(rows), 4);
        const auto run = [&](int team) {
          const int before = threads();
          set_threads(team);
          Array<float> y(size(rows));
          dense_panels_product(rows, cols, a.data(), {layout, cols, tokens, x.data()},
                               {layout, rows, tokens, y.mutate()},
                               {1, bias.data(), residual.data(), kernels::Activation::relu});
          set_threads(before);
          return y;
        };
        const Array<float> y = run(1), other = run(3);
        for (Index t = 0; t < tokens; ++t)
          for (Index r = 0; r < rows; ++r) {
            const auto place = [&](Index feature, Index features) {
              return (t / lanes * features + feature) * lanes + t % lanes;
            };
            const Index at = place(r, rows);
            double sum = double{bias[r]} + residual[at];
            for (Index k = 0; k < cols; ++k) sum += double{a[r * cols + k]} * x[place(k, cols)];
            REQUIRE(std::abs(y[at] - std::max(0.0, sum)) < 1e-4);
            REQUIRE(y[at] == other[at]);
          }
      }
}
