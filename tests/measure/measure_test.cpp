// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/measure.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("energy of an F64 tensor is correct although its sums overflow double") {
  Dense x = Dense::zeros(DType::F64, {70, 1000});  // more than one piece
  const auto v = x.values.mutate<double>();
  std::ranges::fill(v, 1.7e308);
  Mask half = Mask::none(x.extents);
  for (Index i = 0; i < x.size(); i += 2) half.set(i, true);
  CHECK(energy(magnitudes(x, half)) == doctest::Approx(0.5).epsilon(1e-14));
  CHECK(energy(mask_and_measure(x, half).magnitudes) == doctest::Approx(0.5).epsilon(1e-14));
  CHECK(energy(measure_kept(x, half).magnitudes) == doctest::Approx(0.5).epsilon(1e-14));
  CHECK(energy(magnitudes(x, Mask::none(x.extents))) == 0);
  v[0] = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(energy(magnitudes(x, half))));
  CHECK(energy(magnitudes(x, Mask::none(x.extents))) == 0);
}

TEST_CASE("value_mask treats -0.0 as zero in F32 and BF16, but not the same bits in I16") {
  const Dense f32 = Dense::of({2, 3}, {0, -0.0f, 1, -1, std::nanf(""), 1e-45f});
  const Mask values = value_mask(f32);
  CHECK(values.count() == 4);
  CHECK(!values[0]);
  CHECK(!values[1]);
  Dense bf16 = Dense::zeros(DType::BF16, {1, 3});
  bf16.values.mutate<std::uint16_t>()[1] = 0x8000;
  bf16.values.mutate<std::uint16_t>()[2] = 0x8001;
  CHECK(value_mask(bf16).count() == 1);
  Dense i16 = Dense::zeros(DType::I16, {1, 2});
  i16.values.mutate<std::uint16_t>()[1] = 0x8000;
  CHECK(value_mask(i16).count() == 1);
}

TEST_CASE("add_to saturates at the largest index") {
  Index n = Index{1} << 61;
  for (int i = 0; i < 9; ++i) add_to(n, Index{1} << 61);
  CHECK(n == std::numeric_limits<Index>::max());
}
