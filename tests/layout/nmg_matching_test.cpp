// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nmg_matching.h"

#include <doctest/doctest.h>

#include "libsten/core/sparsify/nmg_fit.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Whether all strips, bits of kept positions, can be assigned patterns that contain them, with room
// for each pattern room[p] times. Exhaustive search.
bool placeable(const std::vector<unsigned>& strips, const std::vector<unsigned>& patterns,
               std::vector<Index>& room, std::size_t s = 0) {
  if (s == strips.size()) return true;
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    if (!room[p] || (strips[s] & ~patterns[p])) continue;
    --room[p];
    const bool placed = placeable(strips, patterns, room, s + 1);
    ++room[p];
    if (placed) return true;
  }
  return false;
}

struct Size {
  Index n, m, g;
  int chunks;
};

}  // namespace

TEST_CASE("n:m:g packs a chunk if and only if exhaustive search finds a placement") {
  Dice dice(1);
  for (const Size& size :
       {Size{2, 4, 1, 3000}, Size{1, 2, 3, 500}, Size{2, 3, 2, 2000}, Size{1, 3, 2, 1000},
        Size{2, 3, 3, 600}, Size{3, 4, 2, 600}, Size{1, 1, 4, 20}, Size{3, 3, 2, 50}}) {
    const auto [n, m, g, chunks] = size;
    const Spec spec = Spec("nmg").set("n", n).set("m", m).set("g", g);
    CAPTURE(spec.str());
    const auto table = PatternTable::get(n, m);
    std::vector<unsigned> patterns(table->count());
    for (Index p = 0; p < table->count(); ++p)
      for (const std::uint16_t r : (*table)[p]) patterns[p] |= 1u << r;
    const Index cols = table->count() * g;
    int placed = 0;
    for (int k = 0; k < chunks; ++k) {
      const Dense x = any_bits(dice, DType::U16, {m, cols});
      Mask mask = Mask::none({m, cols});
      std::vector<unsigned> strips(cols);
      // Strips from which positions were dropped still have a placement; random ones may have one.
      const bool valid = k % 2;
      std::vector<Index> order(cols);
      for (Index s = 0; s < cols; ++s) order[s] = s;
      for (Index s = cols; s-- > 1;) std::swap(order[s], order[dice.below(s + 1)]);
      const double dropped = 0.5 * dice.uniform();
      for (Index s = 0; s < cols; ++s) {
        strips[s] = valid ? patterns[order[s] / g] : dice.one_of(patterns);
        for (Index r = 0; r < m; ++r) {
          if (dice.uniform() < dropped) strips[s] &= ~(1u << r);
          if (strips[s] >> r & 1) mask.set(r * cols + s, true);
        }
      }
      std::vector<Index> room(patterns.size(), g);
      const bool possible = placeable(strips, patterns, room);
      if (valid && !possible) FAIL_CHECK("the test itself is wrong");
      try {
        const Tensor t = registry().pack(x, mask, spec);
        ++placed;
        if (!possible) FAIL_CHECK("chunk " << k << " was packed and cannot be");
        if (!same_bits(t.to_dense(), masked_by(x, mask))) FAIL_CHECK("chunk " << k << " changed");
      } catch (const Error& e) {
        if (possible) FAIL_CHECK("chunk " << k << ": " << e.what());
      }
    }
    CHECK(placed >= chunks / 2);
    if (table->count() > 1) CHECK(placed < chunks);
  }
}

TEST_CASE("packing reassigns a flexible strip to free the only pattern of another strip") {
  // Patterns of 2:3 are 01 02 12. Strip 0 keeps only row 0 and is heavy: a greedy fit gives it 02,
  // the later of its two patterns, which is the only pattern for strip 1.
  const Dense x = Dense::of({3, 3}, {100, 1, 0, 0, 0, 1, 0, 1, 0});
  const Spec spec = Spec::parse("nmg:n=2,m=3,g=1");
  const Mask greedy = NmgFit::make(Spec::parse("nmg:n=2,m=3,g=1,fit=greedy")).select(x, {});
  CHECK(masked_by(x, greedy).values.as<float>()[7] == 0);
  const Tensor t = packed(x, spec.str());
  CHECK(same_bits(t.to_dense(), x));
  CHECK(bytes_of(t.save(), "index") == std::vector<int>{0, 1, 2});
}

TEST_CASE("packing finds an augmenting path through a chain of strips") {
  // A pattern of 7:8 omits one row. Strip s can omit row s or s + 1; in order each takes s + 1,
  // until the last strip, which needs row 7 or 6, moves all of them.
  constexpr Index m = 8;
  Dice dice(2);
  Mask keep = Mask::none({m, m});
  for (Index s = 0; s < m; ++s)
    for (Index r = 0; r < m; ++r)
      if (const Index first = std::min(s, m - 2); r != first && r != first + 1)
        keep.set(r * m + s, true);
  const Dense x = masked_by(normals(dice, {m, m}), keep);
  CHECK(same_bits(packed(x, keep, "nmg:n=7,m=8,g=1").to_dense(), x));
}

TEST_CASE("packing many partly filled strips is lossless and deterministic") {
  Dice dice(3);
  const std::string spec = "nmg:n=4,m=8,g=4";
  const Dense x = normals(dice, {16, 560});
  const Mask full = NmgFit::make(Spec::parse(spec)).select(x, {});
  const Dense thin = masked_by(masked_by(x, full), random_mask(dice, x.extents, 0.4));
  const Tensor t = packed(thin, spec);
  CHECK(same_bits(t.to_dense(), thin));
  CHECK(same_parts(packed(thin, spec).save(), t.save()));
  const auto index = numbers<std::uint16_t>(t.save(), "index");
  for (std::size_t i = 0; i < index.size(); ++i)
    if (i % 4 && index[i] <= index[i - 1]) FAIL_CHECK("slot " << i << " does not ascend");
}

TEST_CASE("packing fitted masks of random ragged shapes is lossless") {
  Dice dice(4);
  for (int k = 0; k < 100; ++k) {
    const Shape shape{1 + dice.below(11), 1 + dice.below(30)};
    const Dense x = normals(dice, shape);
    const Spec spec = Spec::parse("nmg:n=2,m=4,g=2");
    const Mask m = NmgFit::make(spec).select(x, {});
    CHECK(same_bits(packed(x, m, spec.str()).to_dense(), masked_by(x, m)));
  }
}
