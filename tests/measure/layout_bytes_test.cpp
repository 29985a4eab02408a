// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/layout_bytes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("layout_bytes matches the packed size of each layout, and is empty where packing fails") {
  Dice dice(1);
  const auto check = [&](const Shape& shape, const char* sparsifier, DType dtype) {
    CAPTURE(to_string(shape));
    CAPTURE(sparsifier);
    Dense x = Dense::zeros(dtype, shape);
    with_width(x.values.width(), [&]<class U>(U) {
      for (U& v : x.values.mutate<U>()) v = static_cast<U>(0x3c00 + dice.below(256));
    });
    const Mask kept = registry().sparsifier(Spec::parse(sparsifier)).select(x);
    x = Dense::pack(x, kept);
    const std::vector<Pattern> held = held_patterns(x);
    const Positions positions = Positions::of(kept);
    const LayoutBytes bytes = layout_bytes({x.values.width(), positions}, held);
    const auto layouts = registry().layouts();
    REQUIRE(bytes.size() == layouts.size());
    const auto packed = [&](const std::string& spec) -> std::optional<Index> {
      try {
        Index sum = 0;
        for (const Part& p : registry().pack(x, kept, Spec::parse(spec)).save().parts)
          sum += std::ssize(p.bytes);
        return sum;
      } catch (const Error&) {
        return std::nullopt;
      }
    };
    for (std::size_t l = 0; l < layouts.size(); ++l) {
      const std::string name = layouts[l].name;
      CAPTURE(name);
      std::optional<Index> expected;
      if (name == "nm" || name.starts_with("nmg")) {  // parameters of nmgv are not searched
        for (const Pattern& p : held)
          if (p.layout().is(name)) {
            const auto size = packed(p.layout().str());
            if (!expected || *size < *expected) expected = size;
          }
      } else {
        expected = packed(layouts[l].spec.str());
      }
      CHECK(bytes[l] == expected);
    }
    // The smallest layout has these bytes and holds the whole tensor.
    const Index dense = x.size() * x.values.width();
    const Spec smallest =
        smallest_layout({Spec("dense"), dense}, {x.values.width(), positions}, held);
    const Index least = **std::ranges::min_element(
        bytes, {}, [](const auto& b) { return b.value_or(std::numeric_limits<Index>::max()); });
    CHECK(static_cast<Index>(registry().pack(x, kept, smallest).bytes()) == std::min(dense, least));
    CHECK((least < dense || smallest.is("dense")));
    // Among equal sizes, its own layout.
    const Spec own = Spec::parse("coo:dims=1.0");
    CHECK(smallest_layout({own, least}, {x.values.width(), positions}, held) == own);
  };
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    check({64, 120}, "random:fraction=0.9", dtype);
    check({13, 7}, "random:fraction=0.5", dtype);
    check({13, 2, 5}, "random:fraction=0.2", dtype);
    check({64, 120}, "nm:n=2,m=4", dtype);
    check({64, 120}, "nmg:n=2,m=4,g=4", dtype);
    check({600, 130}, "nmg:n=1,m=10,g=4", dtype);
    check({64, 120}, "block-magnitude:sparsity=0.5,h=4,w=4", dtype);
    check({65, 121}, "block-magnitude:sparsity=0.5,h=4,w=4", dtype);
    check({9, 9}, "keep-all", dtype);
    check({0, 5}, "keep-all", dtype);
    check({5, 0}, "keep-all", dtype);
    check({1, 1}, "keep-all", dtype);
  }
  // One full row: ell would be larger than dense.
  Dense x = Dense::zeros(DType::F32, {100, 100});
  std::ranges::fill(x.values.mutate<float>().first(100), 1.0f);
  const Positions positions = Positions::of(nonzero_mask(x));
  CHECK(registry().layouts()[6].name == "ell");
  CHECK(!layout_bytes({4, positions}, {})[6]);
}

TEST_CASE("sized_as names the layouts in report order, with the parameters they are sized by") {
  std::string all;
  for (const auto& layout : registry().layouts()) all += sized_as(layout) + ", ";
  CHECK(all.starts_with("dense, masked, bitmask, csr, csc, coo, ell, bcsr 4x4, nm, nmg, nmgv, "));
}
