// n:m selected by kernels and packed at once, against the rule a block at a time and against the
// mask's packing.
#include <doctest/doctest.h>

#include "libsten/sparsify/per_block.h"
#include "tests/support/laws.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Without the way for all lines at once.
struct BlockByBlock {
  static constexpr const char* name = "user-block-by-block";
  PerBlock rule;
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
  Spec sparsifier("per-block");
  for (const auto& [key, value] : layout.args()) sparsifier.set(key, value);
  Case c{layout, sparsifier, any_bits(dice, dtype, shape), ""};
  if (round % 4 == 1)
    with_width(c.x.values.width(), [&]<class U>(U) {
      for (U& v : c.x.values.mutate<U>()) v = static_cast<U>(v & (dice.below(3) ? U{3} : U{0}));
    });
  c.name = fmt::format("{} {} {}", layout.str(), name_of(dtype), to_string(shape));
  return c;
}

bool same_parts(const Tensor& a, const Tensor& b) {
  const Stored x = a.save(), y = b.save();
  if (x.layout.str() != y.layout.str() || x.parts.size() != y.parts.size()) return false;
  for (std::size_t i = 0; i < x.parts.size(); ++i)
    if (!std::equal(x.parts[i].bytes.begin(), x.parts[i].bytes.end(), y.parts[i].bytes.begin(),
                    y.parts[i].bytes.end()))
      return false;
  return true;
}

}  // namespace

TEST_CASE("per-block keeps what its rule keeps of each block, in every dtype and view") {
  Dice dice(1);
  for (int round = 0; round < 240; ++round) {
    const Case c = random_case(dice, round);
    const Mask expected = Sparsifier(BlockByBlock{PerBlock::make(c.sparsifier)}).select(c.x);
    for (const int threads : {1, 3}) {
      const Threads scope(threads);
      CHECK_MESSAGE(same_mask(registry().sparsifier(c.sparsifier).select(c.x), expected), c.name);
    }
  }
}

TEST_CASE("selecting and packing n:m at once stores what the two steps store") {
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
      CHECK_MESSAGE(same_parts(t, packed), c.name);
      CHECK_MESSAGE(same_parts(registry().prune(c.x, c.sparsifier, c.layout), packed), c.name);
    }
    CHECK_MESSAGE(same_parts(registry().load(packed.save()), packed), c.name);
  }
}
