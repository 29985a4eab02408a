// SPDX-License-Identifier: Apache-2.0
// n:m selection fused with packing, compared with the rule per block and with packing the mask.
#include <doctest/doctest.h>

#include "libsten/core/sparsify/nm_magnitude.h"
#include "tests/support/laws.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// NmMagnitude without its implementation for all rows at once.
struct BlockByBlock {
  static constexpr const char* name = "user-block-by-block";
  NmMagnitude rule;
  Index axis = rule.axis;
  Dims dims = rule.dims;
  Index block() const { return rule.m; }
  void select(std::span<const float> in, std::span<std::uint8_t> keep) const {
    rule.select(in, keep);
  }
  void select(std::span<const double> in, std::span<std::uint8_t> keep) const {
    rule.select(in, keep);
  }
};

struct Case {
  Spec layout, sparsifier;
  Dense x;
  std::string name;
};

Case random_case(Dice& dice, int round) {
  const Index m =
      round % 3 ? 1 + dice.below(12) : dice.one_of<Index>({16, 17, 32, 50, 64, 65, 300});
  const DType dtype = prunable_dtypes()[round % prunable_dtypes().size()];
  const Index rows = 1 + dice.below(150), cols = 1 + dice.below(round % 8 ? 150 : 10000);
  Shape shape{rows, cols};
  if (cols > 1000) shape[0] = 1 + dice.below(3);
  if (round % 5 == 4) shape = {3, 1 + dice.below(20), 5, 1 + dice.below(20)};
  Spec layout("nm");
  layout.set("n", 1 + dice.below(m)).set("m", m);
  if (dice.below(4)) layout.set("axis", dice.below(2));
  if (shape.size() == 4 && dice.below(4))
    layout.set("dims", dice.one_of<std::string>({"0.1", "1.3", "2.3", "3.0"}));
  Spec sparsifier("nm");
  for (const auto& [key, value] : layout.args()) sparsifier.set(key, value);
  Case c{layout, sparsifier, any_bits(dice, dtype, shape), ""};
  if (round % 4 == 1)
    with_width(c.x.values.width(), [&]<class U>(U) {
      for (U& v : c.x.values.mutate<U>()) v = static_cast<U>(v & (dice.below(3) ? U{3} : U{0}));
    });
  c.name = fmt::format("{} {} {}", layout.str(), name_of(dtype), to_string(shape));
  return c;
}

// Reads an integer of `width` bits from a row of positions, bit by bit.
Index number_at(const std::uint8_t* line, Index bit, Index width) {
  Index v = 0;
  for (Index i = 0; i < width; ++i) v |= Index{bit_at(line, bit + i)} << i;
  return v;
}

// Whether each block of `t` holds the mask's elements, padded with the lowest free positions.
bool holds(const Nm& t, const Dense& x, const Mask& keep) {
  const MatrixView v = MatrixView::of(t.extents, t.dims, t.axis == 0);
  const Index width = std::bit_width(static_cast<std::uint64_t>(t.m - 1)),
              blocks = ceil_div(v.cols, t.m), bytes = ceil_div(blocks * t.n * width, 8);
  for (Index l = 0; l < v.batches * v.rows; ++l)
    for (Index b = 0; b < blocks; ++b) {
      std::vector<Index> at(t.m, -1), positions;
      std::vector<bool> kept(t.m);
      for (Index p = 0; p < t.m && b * t.m + p < v.cols; ++p) {
        at[p] = v.row_offset(l) + (b * t.m + p) * v.col_stride;
        kept[p] = keep[at[p]];
      }
      Index fillers = t.n - std::count(kept.begin(), kept.end(), true);
      for (Index p = 0; p < t.m; ++p)
        if (kept[p] || fillers-- > 0) positions.push_back(p);
      for (Index i = 0; i < t.n; ++i) {
        const Index slot = (l * blocks + b) * t.n + i, p = positions[i];
        if (number_at(t.pos.data() + l * bytes, (b * t.n + i) * width, width) != p) return false;
        Values one(x.dtype(), 1), other(x.dtype(), 1);
        one.put(0, t.values, slot);
        if (kept[p]) other.put(0, x.values, at[p]);
        if (!std::equal(one.bytes().begin(), one.bytes().end(), other.bytes().begin()))
          return false;
      }
    }
  return true;
}

}  // namespace

TEST_CASE("nm on whole tensors matches nm block by block in every dtype and matrix view") {
  Dice dice(1);
  for (int round = 0; round < 240; ++round) {
    const Case c = random_case(dice, round);
    const Mask expected = Sparsifier(BlockByBlock{NmMagnitude::make(c.sparsifier)}).select(c.x);
    for (const int threads : {1, 3}) {
      const Threads scope(threads);
      CHECK_MESSAGE(same_mask(registry().sparsifier(c.sparsifier).select(c.x), expected), c.name);
    }
  }
}

TEST_CASE("fused n:m selection and packing match separate selection and packing") {
  Dice dice(2);
  for (int round = 0; round < 240; ++round) {
    const Case c = random_case(dice, round);
    const Mask expected = registry().sparsifier(c.sparsifier).select(c.x);
    const Tensor packed = registry().pack(c.x, expected, c.layout);
    for (const int threads : {1, 3}) {
      const Threads scope(threads);
      Mask kept;
      const Tensor t = registry().prune(c.x, c.sparsifier, c.layout, {}, &kept);
      CHECK_MESSAGE(same_mask(kept, expected), c.name);
      CHECK_MESSAGE(same_parts(t.save(), packed.save()), c.name);
      CHECK_MESSAGE(same_parts(registry().prune(c.x, c.sparsifier, c.layout).save(), packed.save()),
                    c.name);
    }
    CHECK_MESSAGE(same_parts(registry().load(packed.save()).save(), packed.save()), c.name);
  }
}

TEST_CASE("packing n:m preserves any mask with at most n kept elements per block") {
  Dice dice(3);
  for (int round = 0; round < 160; ++round) {
    const Case c = random_case(dice, round);
    if (c.x.size() > 5000) continue;
    Mask keep = registry().sparsifier(c.sparsifier).select(c.x);
    for (Index i = 0; round % 3 && i < c.x.size(); ++i)
      if (dice.below(round % 3 == 1 ? 2 : 50) == 0) keep.set(i, false);
    const Threads scope(1 + round % 3);
    const Nm t = Nm::pack(c.x, keep, c.layout);
    CHECK_MESSAGE(holds(t, c.x, keep), c.name);
    CHECK_MESSAGE(same_bits(t.to_dense(), masked_by(c.x, keep)), c.name);
    Mask stored = Mask::none(c.x.extents);
    for (const Index at : t.offsets())
      if (at >= 0) stored.set(at, true);
    CHECK_MESSAGE(same_mask(t.stored(), stored), c.name);
    CHECK_MESSAGE(error_of([&] { t.loaded(); }) == "", c.name);
  }
}

TEST_CASE("packing n:m reports the first overfull block at 1 and 3 threads") {
  const Dense x = Dense::zeros(DType::F32, {300, 700});
  Mask keep = Mask::none(x.extents);
  for (const Index i :
       {700 * 2 + 600, 700 * 2 + 601, 700 * 250, 700 * 250 + 1, 700 * 280 + 3, 700 * 281 + 3})
    keep.set(i, true);
  for (const int threads : {1, 3}) {
    const Threads scope(threads);
    CHECK(error_of([&] { Nm::pack(x, keep, Spec::parse("nm:n=1,m=4")); }) ==
          "nm:n=1,m=4 cannot hold 2 kept positions in the block of 4 elements of row 2 from column "
          "600");
    CHECK(error_of([&] { Nm::pack(x, keep, Spec::parse("nm:n=1,m=4,axis=0")); }) ==
          "nm:n=1,m=4,axis=0 cannot hold 2 kept positions in the block of 4 elements of column 3 "
          "from row 280");
    CHECK(error_of([&] { Nm::pack(x, keep, Spec::parse("nm:n=1,m=70")); }) ==
          "nm:n=1,m=70 cannot hold 2 kept positions in the block of 70 elements of row 2 from "
          "column 560");
  }
}
