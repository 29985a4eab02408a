// SPDX-License-Identifier: Apache-2.0
// Fit fused with packing, compared with packing the mask.
// ThreadSanitizer runs these tests, too.
#include <doctest/doctest.h>

#include "libsten/core/sparsify/nmg_fit.h"
#include "tests/support/laws.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

Spec layout_of(const Spec& fit) {
  Spec layout("nmg");
  for (const auto& [key, value] : fit.args())
    if (key != "fit") layout.set(key, value);
  return layout;
}

}  // namespace

TEST_CASE("fused n:m:g fitting and packing match separate fitting and packing") {
  Dice dice(1);
  const std::vector<std::string> specs{"nmg:n=2,m=4,g=2",
                                       "nmg:n=1,m=10,g=4",
                                       "nmg:n=3,m=6,g=1,axis=1",
                                       "nmg:n=2,m=3,g=100",
                                       "nmg:n=1,m=4,g=70",
                                       "nmg:n=5,m=7,g=1",
                                       "nmg:n=4,m=4,g=3",
                                       "nmg:n=1,m=2,g=3,dims=1.2",
                                       "nmg:n=1,m=5,g=3,fit=greedy",
                                       "nmg:n=2,m=5,g=3,fit=heuristic",
                                       "nmg:n=2,m=5,g=3,fit=swaps"};
  for (int round = 0; round < 120; ++round) {
    const Spec spec = Spec::parse(specs[round % specs.size()]);
    const DType dtype = prunable_dtypes()[round % prunable_dtypes().size()];
    const bool batches = spec.has("dims");
    const bool whole = dice.below(2);  // without padding
    const Index m = spec.integer("m"),
                strips = pattern_count(spec.integer("n"), m, 65536) * spec.integer("g");
    Index rows = whole ? m * (1 + dice.below(9)) : 1 + dice.below(40),
          cols = whole ? strips * (1 + dice.below(3)) : 1 + dice.below(300);
    if (spec.integer("axis", 0) == 1) std::swap(rows, cols);
    const Dense x = any_bits(dice, dtype, batches ? Shape{3, rows, cols} : Shape{rows, cols});
    const std::string where =
        fmt::format("{} {} {}", spec.str(), name_of(dtype), to_string(x.extents));
    const Mask expected = registry().sparsifier(spec).select(x);
    const Tensor packed = registry().pack(x, expected, layout_of(spec));
    for (const int threads : {1, 3}) {
      const Threads scope(threads);
      Mask kept;
      const Tensor t = registry().prune(x, spec, layout_of(spec), {}, &kept);
      CHECK_MESSAGE(same_mask(kept, expected), where);
      if (whole) CHECK_MESSAGE(same_mask(t.stored(), expected), where);
      CHECK_MESSAGE(same_parts(t.save(), packed.save()), where);
      CHECK_MESSAGE(same_parts(registry().load(t.save()).save(), t.save()), where);
      CHECK_MESSAGE(same_parts(registry().prune(x, spec, layout_of(spec)).save(), t.save()), where);
    }
  }
}

TEST_CASE("an n:m:g fit for another layout is packed by its mask or rejected") {
  Dice dice(2);
  const Dense x = normals(dice, {8, 24});
  const Spec fit = Spec::parse("nmg:n=1,m=4,g=3");
  Mask kept;
  const Tensor t = registry().prune(x, fit, Spec::parse("csr"), {}, &kept);
  CHECK(same_bits(t.to_dense(), masked_by(x, kept)));
  // A chunk of g=3 holds each pattern 3 times in 12 columns, not once in every 4 columns.
  CHECK(has(error_of([&] { registry().prune(x, fit, Spec::parse("nmg:n=1,m=4,g=1")); }),
            "cannot hold"));
  CHECK(fault_of([&] { registry().prune(x, fit, Spec::parse("nmg:n=1,m=4")); }) == Fault::usage);
}

TEST_CASE("set_bits_shared sets exactly the given bits across byte boundaries") {
  Dice dice(3);
  for (int round = 0; round < 500; ++round) {
    const Index at = dice.below(64);
    const std::uint64_t word = dice.bits() >> dice.below(64) & (dice.below(9) ? dice.bits() : 0);
    std::vector<std::uint8_t> bits(24, 0);
    const Index before = dice.below(24 * 8);
    set_bit(bits.data(), before);
    set_bits_shared(bits.data(), at, word);
    for (Index i = 0; i < 24 * 8; ++i) {
      const bool in_word = i >= at && i < at + 64 && (word >> (i - at) & 1);
      if (bit_at(bits.data(), i) != (in_word || i == before)) FAIL_CHECK(i << " of " << at);
    }
  }
}
