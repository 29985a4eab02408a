// SPDX-License-Identifier: Apache-2.0
// Values at the positions of a mask.
#include <doctest/doctest.h>

#include "libsten/core/registry/registry.h"
#include "libsten/training/optim/kept_values.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

Tensor zeros_with(const Mask& keep) {
  return registry().pack(Dense::zeros(DType::F32, keep.extents), keep, Spec("masked"));
}

}  // namespace

TEST_CASE("kept values are gathered in order and scattered back to their positions") {
  Mask keep = Mask::none({2, 5});
  for (const Index i : {1, 4, 5, 9}) keep.set(i, true);
  const Tensor w = zeros_with(keep);
  CHECK(kept_count(w) == 4);
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<float> kept(4);
  gather_kept(w, x.data(), kept.data());
  CHECK(kept == std::vector<float>{1, 4, 5, 9});
  std::vector<float> y(10, -1);
  for (float& v : kept) v *= 10;
  scatter_kept(w, kept.data(), y.data());
  CHECK(y == std::vector<float>{0, 10, 0, 0, 40, 50, 0, 0, 0, 90});
}

TEST_CASE("gather and scatter of kept values match a loop at many sizes and densities") {
  Dice dice(1);
  for (const Index n : {0, 1, 63, 64, 65, 65536, 65537, 200000})
    for (const int share : {0, 1, 3, 4}) {
      Mask keep = Mask::none({n});
      std::vector<float> x(static_cast<std::size_t>(n)), wanted;
      for (Index i = 0; i < n; ++i) {
        x[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
        if (dice.below(4) >= share) continue;
        keep.set(i, true);
        wanted.push_back(static_cast<float>(i + 1));
      }
      const Tensor w = zeros_with(keep);
      REQUIRE(kept_count(w) == std::ssize(wanted));
      std::vector<float> kept(wanted.size()), y(x.size());
      gather_kept(w, x.data(), kept.data());
      CHECK(kept == wanted);
      scatter_kept(w, kept.data(), y.data());
      for (Index i = 0; i < n; ++i)
        if (y[static_cast<std::size_t>(i)] != (keep[i] ? static_cast<float>(i + 1) : 0.0F)) {
          FAIL("element " << i);
        }
    }
}
