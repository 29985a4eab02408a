// SPDX-License-Identifier: Apache-2.0
// ElementwiseFunctions over grids, as on a GPU.
#include "kernels/block/elementwise/elementwise.h"

#include <doctest/doctest.h>

#include <bit>

#include "libsten/core/layout/bitmask.h"
#include "libsten/core/sparsify/magnitude.h"
#include "libsten/programs/measure/measure.h"
#include "tests/support/checked_device.h"
#include "tests/support/device_views.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using kernels::ElementwiseFunctions;

namespace {

using Bytes = std::vector<std::uint8_t>;

const ElementwiseFunctions& functions(bool checked) {
  static const ElementwiseFunctions plain = kernels::elementwise_functions<kernels::SerialGrid>(),
                                    careful = kernels::elementwise_functions<CheckedDevice>();
  return checked ? careful : plain;
}

// Few distinct values give ties; arbitrary bits include NaN and infinities.
Dense some_elements(Dice& dice, DType dtype, Index n) {
  Dense x = any_bits(dice, dtype, {n});
  const Index kind = dice.below(4), few = 1 + dice.below(4);
  with_width(x.values.width(), [&]<class U>(U) {
    for (U& v : x.values.mutate<U>()) {
      if (kind == 0) v = static_cast<U>(dice.below(few));
      if (kind == 1) v = static_cast<U>(v & ~(U{1} << (8 * sizeof(U) - 2)));
      if (kind == 2 && dice.below(3)) v = U{0};
    }
  });
  return x;
}

Bytes bytes_of(const Array<std::uint8_t>& bits) { return {bits.begin(), bits.end()}; }
Bytes bytes_of(const Values& v) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(v.bytes().data());
  return {data, data + v.bytes().size()};
}

// Compares all functions with the CPU's for one tensor.
void check_functions(Dice& dice, DType dtype, Index n, bool checked, const std::string& where) {
  const ElementwiseFunctions& f = functions(checked);
  const Dense x = some_elements(dice, dtype, n);
  const kernels::Elements in = elements_of(x.values);
  const auto same = [&](const auto& a, const auto& b, const char* what) {
    if (!(a == b)) FAIL_CHECK(where << ": " << what);
  };

  const double sparsity = dice.one_of<double>({0, 0.1, 0.5, 0.9, 1, dice.uniform()});
  const Mask keep = Magnitude{sparsity}.select(x, {});
  Bytes bits((n + 7) / 8, 0xee);
  f.keep_largest(in, n - keep.count(), bits.data(), nullptr);
  same(bits, bytes_of(keep.bits), "other elements are kept");

  const Mask mask = dice.below(2) ? keep : random_mask(dice, {n}, dice.uniform());
  same(f.count_bits(mask.bits.data(), n, nullptr), mask.count(), "another count of bits");

  const Bitmask packed = Bitmask::pack(x, mask, Spec("bitmask"));
  Bytes values(packed.values.bytes().size(), 0xee);
  f.compress(in, mask.bits.data(), values.data(), nullptr);
  same(values, bytes_of(packed.values), "other values are packed");
  Bytes dense(x.values.bytes().size(), 0xee);
  f.expand(values.data(), in.width, mask.bits.data(), n, dense.data(), nullptr);
  const Bytes masked = bytes_of(Dense::pack(x, mask).values);
  same(dense, masked, "other values are unpacked");
  Bytes out = bytes_of(x.values);
  f.mask_values({out.data(), in.width, n}, mask.bits.data(), out.data(), nullptr);
  same(out, masked, "other values are masked");

  std::fill(bits.begin(), bits.end(), 0xee);
  f.nonzero_bits(in, bits.data(), nullptr);
  same(bits, bytes_of(nonzero_mask(x).bits), "other elements are not zeros");
  same(f.count_nonzero(in, nullptr), nonzero_mask(x).count(), "another count of what is not 0");
  same(f.count_key(in, 0, nullptr), zeros(x), "another count of zeros");
  same(f.first_not_finite(in, kind_of(dtype), nullptr), first_not_finite(x).value_or(n),
       "another first infinity");

  std::vector<double> sums(2 * ((n + mask_grain - 1) / mask_grain), -1);
  f.sum_magnitudes(in, kind_of(dtype), mask.bits.data(), mask_grain, sums.data(), nullptr);
  Magnitudes all;
  for (std::size_t p = 0; p < sums.size(); p += 2) all.all += sums[p], all.kept += sums[p + 1];
  const Magnitudes expected = magnitudes(x, mask);
  const auto bits_of_sum = [](long double sum) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(sum));
  };
  same(bits_of_sum(all.all), bits_of_sum(expected.all), "another sum");
  same(bits_of_sum(all.kept), bits_of_sum(expected.kept), "another sum of what is kept");
}

void check_sizes(std::uint64_t seed, Index rounds, Index most, bool checked) {
  Dice dice(seed);
  CheckedDevice::reset(seed);
  for (Index round = 0; round < rounds; ++round) {
    const DType dtype = prunable_dtypes()[round % std::ssize(prunable_dtypes())];
    const Index n = dice.one_of<Index>(
        {0, 1, 7, 8, 9, 63, 64, 65, dice.below(300), dice.below(most), dice.below(most)});
    check_functions(dice, dtype, n, checked,
                    fmt::format("round {}: {} of {}", round, n, name_of(dtype)));
  }
  CHECK(CheckedDevice::reports() == std::vector<std::string>{});
}

}  // namespace

TEST_CASE("elementwise block kernels match the CPU's kernels") {
  check_sizes(1, 1000, 20'000, false);
  check_sizes(2, 12, 300'000, false);
}

TEST_CASE("elementwise block kernels match the CPU's in any order of threads and blocks") {
  check_sizes(3, 60, 10'000, true);
}
