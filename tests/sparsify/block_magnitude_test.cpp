// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/block_magnitude.h"

#include <doctest/doctest.h>

#include "tests/support/sparsifier_reference.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Ints = std::vector<int>;

Mask keep_large_blocks(const Selection& s) {
  const Index h = s.spec.integer("h"), w = s.spec.integer("w");
  std::vector<std::vector<Index>> blocks;
  for (const auto& a : matrices(s.x.extents, s.spec, false))
    for (Index r = 0; r < std::ssize(a); r += h)
      for (Index c = 0; c < std::ssize(a[0]); c += w) {
        std::vector<Index> block;
        for (Index i = r; i < std::min<Index>(r + h, std::ssize(a)); ++i)
          for (Index j = c; j < std::min<Index>(c + w, std::ssize(a[0])); ++j)
            block.push_back(a[i][j]);
        blocks.push_back(block);
      }
  std::vector<double> sums;
  for (const auto& block : blocks) {
    double sum = 0;
    for (const Index i : block) sum += std::abs(s.values[i]);
    sums.push_back(sum);
  }
  const auto keep = all_but_smallest(sums, s.pruned_of(std::ssize(sums)));
  Mask mask = Mask::none(s.x.extents);
  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (const Index i : blocks[b])
      if (keep[b]) mask.set(i, true);
  return mask;
}
const bool has_block_magnitude_reference =
    add_reference("block-magnitude", Kind::materializing, keep_large_blocks);

}  // namespace

TEST_CASE("block-magnitude removes the blocks with the smallest sums, including ragged blocks") {
  // Sums: 4 2 / 5 1 (the right and lower blocks are ragged).
  const Dense x = Dense::of({3, 3}, {1, -1, 2, -1, 1, 0, 3, -2, 1});
  CHECK(ones_of(select(x, "block-magnitude:sparsity=0.25,h=2,w=2")) ==
        Ints{1, 1, 1, 1, 1, 1, 1, 1, 0});
  CHECK(ones_of(select(x, "block-magnitude:sparsity=0.5,h=2,w=2")) ==
        Ints{1, 1, 0, 1, 1, 0, 1, 1, 0});
  CHECK(ones_of(select(x, "block-magnitude:sparsity=0.75,h=2,w=2")) ==
        Ints{0, 0, 0, 0, 0, 0, 1, 1, 0});
}

TEST_CASE("among blocks of equal sum, block-magnitude removes the later first") {
  const Dense x = Dense::of({2, 4}, {1, 1, 2, 0, 0, 2, 1, 1});
  CHECK(ones_of(select(x, "block-magnitude:sparsity=0.5,h=1,w=2")) == Ints{1, 1, 1, 1, 0, 0, 0, 0});
}

TEST_CASE("a block larger than the tensor covers the whole tensor") {
  const Dense x = Dense::of({2, 2}, {1, 2, 3, 4});
  const std::string huge = "h=9223372036854775807,w=9223372036854775807";
  CHECK(select(x, "block-magnitude:sparsity=0.4," + huge).count() == 4);
  CHECK(select(x, "block-magnitude:sparsity=0.6," + huge).count() == 0);
  CHECK(select(Dense::zeros(DType::F32, {0, 3}), "block-magnitude:sparsity=1,h=2,w=2").count() ==
        0);
}

TEST_CASE("block-magnitude treats rank 1 as one row, and dims names rows and columns") {
  CHECK(ones_of(select(Dense::of({5}, {1, 1, 5, 0, 4}), "block-magnitude:sparsity=0.34,h=4,w=2")) ==
        Ints{0, 0, 1, 1, 1});
  const Dense x = Dense::of({2, 2, 2}, {1, 9, 2, 9, 3, 9, 4, 9});
  CHECK(ones_of(select(x, "block-magnitude:sparsity=0.5,h=2,w=1,dims=1.2")) ==
        Ints{0, 1, 0, 1, 0, 1, 0, 1});
}

TEST_CASE("block-magnitude keeps a block that contains NaN") {
  const Dense x = Dense::of({1, 4}, {NAN, 0, 3e38f, 3e38f});
  CHECK(ones_of(select(x, "block-magnitude:sparsity=0.5,h=1,w=2")) == Ints{1, 1, 0, 0});
}

TEST_CASE("block-magnitude rejects invalid specs") {
  for (const char* wrong :
       {"block-magnitude:sparsity=0.5", "block-magnitude:sparsity=0.5,h=0,w=4",
        "block-magnitude:sparsity=0.5,h=4,w=-1", "block-magnitude:sparsity=2,h=4,w=4",
        "block-magnitude:h=4,w=4", "block-magnitude:sparsity=0.5,h=4,w=4,axis=0"}) {
    CAPTURE(wrong);
    CHECK(fault_of([&] { registry().sparsifier(Spec::parse(wrong)); }) == Fault::usage);
  }
}
