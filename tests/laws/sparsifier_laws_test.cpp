// SPDX-License-Identifier: Apache-2.0
// Laws of every registered sparsifier.
#include <doctest/doctest.h>

#include "tests/support/laws.h"
#include "tests/support/sparsifier_reference.h"

using namespace sten;
using namespace sten::testing;

namespace {

bool spare_bits_are_0(const Mask& m) {
  const Index n = m.size();
  return static_cast<Index>(m.bits.size()) == ceil_div(n, 8) &&
         (n % 8 == 0 || m.bits[n / 8] >> n % 8 == 0);
}

// Random bits of finite values up to `limit`, with 0 for all others.
Dense any_numbers(Dice& dice, DType dtype, const Shape& shape, double limit) {
  Dense x = any_bits(dice, dtype, shape);
  const std::vector<double> v = numbers(x);
  const Values zero(dtype, 1);
  for (Index i = 0; i < x.size(); ++i)
    if (!(std::abs(v[i]) <= limit)) x.values.put(i, zero, 0);
  return x;
}

// Everything that a sparsifier may ask for.
struct Inputs {
  Dense x, scores;
  Mask had;
  Sparsifier own;

  Inputs(Dice& dice, Dense values, double limit = INFINITY)
      : x(std::move(values)),
        scores(any_numbers(dice, dice.one_of(prunable_dtypes()), x.extents, limit)),
        had(random_mask(dice, x.extents, 0.5)),
        own(registry().sparsifier(Spec::parse("magnitude:sparsity=0.3"))) {}
  Hints hints() const { return {&had, &scores, &own}; }
};

// The example with another fraction, axis, or dimensions.
Spec varied(Dice& dice, const Spec& example, const Shape& shape) {
  Spec spec = vary_sparsifier(dice, example, shape);
  for (const char* key : {"sparsity", "fraction"})
    if (spec.has(key) && dice.below(4))
      spec.set(key, dice.one_of<std::string>({"0", "1", "0.5", "0.1", "0.99", "0.333"}));
  if (spec.is("nmgv"))
    spec.set("v", dice.one_of<Index>({1, 2, 4, 5})).set("w", dice.one_of<Index>({1, 2, 3}));
  if ((spec.is("nmg") || spec.is("nmgv")) && dice.below(2)) spec.set("fit", "greedy");
  return spec;
}

}  // namespace

TEST_CASE("every sparsifier has the kind that its reference states") {
  for (const auto& entry : builtin_sparsifiers()) {
    CAPTURE(entry.name);
    CHECK(registry().sparsifier(entry.spec).kind() == reference_of(entry.name).kind);
  }
}

TEST_CASE("every sparsifier selects a mask that follows its rule, on 1 and 3 threads") {
  Dice dice(5);
  for (const auto& entry : builtin_sparsifiers()) {
    CAPTURE(entry.name);
    for (int round = 0; round < shapes_to_try(100); ++round) {
      const Shape shape = random_shape(dice);
      const Spec spec = varied(dice, entry.spec, shape);
      const DType dtype = prunable_dtypes()[round % prunable_dtypes().size()];
      // Sums of four such squares are finite.
      const Inputs in(dice, any_numbers(dice, dtype, shape, 1e18), 1e18);
      const std::string where =
          fmt::format("{} {} {}", spec.str(), name_of(dtype), to_string(shape));
      const Sparsifier s = registry().sparsifier(spec);
      for (const int n : {1, 3}) {
        const Threads scope(n);
        const Mask got = s.select(in.x, in.hints());
        if (const std::string wrong = fault_of_mask(got, spec, in.x, in.hints()); !wrong.empty())
          FAIL_CHECK(where << " at " << n << " threads: " << wrong);
      }
    }
  }
}

TEST_CASE("every sparsifier repeatably selects a mask of x's shape that masked and bitmask hold") {
  Dice dice(1);
  for (const auto& entry : builtin_sparsifiers()) {
    CAPTURE(entry.name);
    for (int round = 0; round < shapes_to_try(100); ++round) {
      const Shape shape = random_shape(dice);
      const Spec spec = vary_sparsifier(dice, entry.spec, shape);
      const DType dtype = prunable_dtypes()[round % prunable_dtypes().size()];
      const Dense x = any_bits(dice, dtype, shape);
      const Inputs in(dice, x, 1e18);
      const Sparsifier s = registry().sparsifier(spec);
      CHECK(s.name() == Name(entry.name));
      const Mask m = s.select(x, in.hints());
      const std::string where =
          fmt::format("{} {} {}", spec.str(), name_of(dtype), to_string(shape));
      if (m.extents != shape || !spare_bits_are_0(m)) FAIL_CHECK(where << ": no mask of x");
      if (!same_mask(s.select(x, in.hints()), m))
        FAIL_CHECK(where << ": another mask the second time");
      if (!same_mask(registry().sparsifier(spec).select(x, in.hints()), m))
        FAIL_CHECK(where << ": another mask from the same spec");
      for (const char* layout : {"dense", "masked", "bitmask"})
        if (!same_bits(packed(x, m, layout).to_dense(), masked_by(x, m)))
          FAIL_CHECK(where << ": " << layout << " holds something else");
    }
  }
}

TEST_CASE("every sparsifier selects the same mask on 1, 2 and 3 threads") {
  Dice dice(2);
  for (const auto& entry : builtin_sparsifiers()) {
    CAPTURE(entry.name);
    for (const Shape& shape : {Shape{403, 511}, Shape{70001, 3}, Shape{3, 5, 13001}})
      for (DType dtype : {DType::F32, DType::F8_E4M3}) {
        const Dense x = any_bits(dice, dtype, shape);
        const Inputs in(dice, x, 1e18);
        const Sparsifier s = registry().sparsifier(vary_sparsifier(dice, entry.spec, shape));
        const Threads one(1);
        const Mask m = s.select(x, in.hints());
        for (int n : {2, 3}) {
          const Threads scope(n);
          CHECK(same_mask(s.select(x, in.hints()), m));
        }
      }
  }
}

TEST_CASE("no sparsifier modifies its input tensor") {
  Dice dice(3);
  for (const auto& entry : builtin_sparsifiers()) {
    CAPTURE(entry.name);
    const Dense x = any_bits(dice, DType::F32, {16, 40});
    const Inputs in(dice, x, 1e18);
    Dense copy = x;
    copy.values.mutate<std::uint32_t>();
    registry().sparsifier(entry.spec).select(x, in.hints());
    CHECK(same_bits(x, copy));
  }
}

TEST_CASE("sparsifying a sparsified tensor again keeps no pruned element") {
  // Kept zeros look like dropped values, so the values have no zeros.
  Dice dice(4);
  for (const auto& entry : builtin_sparsifiers()) {
    if (entry.name == "same-pattern" || entry.name == "keep-all") continue;
    CAPTURE(entry.name);
    const Dense x = normals(dice, {48, 72});
    const Sparsifier s = registry().sparsifier(entry.spec);
    const Inputs in(dice, x, 1e18);
    const Mask m = s.select(x, in.hints());
    const Mask again = s.select(masked_by(x, m), in.hints());
    for (Index i = 0; i < x.size(); ++i)
      if (again[i] && !m[i]) FAIL_CHECK("element " << i);
  }
}
