// SPDX-License-Identifier: Apache-2.0
// A user-defined layout is packed, saved, loaded and named like the built-in layouts.
#include <doctest/doctest.h>

#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Band matrices: kept entries are at most `below` under and `above` over the diagonal.
struct Banded {
  static constexpr const char* name = "banded";
  Shape extents;
  Index below = 0, above = 0;
  Values diagonals;  // [rows, below + 1 + above]; dense (r, c) is (r, c - r + below)

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("below", self.below);
    f("above", self.above, Index{0});
    f("diagonals", self.diagonals, Shape{self.extents[0], self.below + 1 + self.above});
  }
  const Shape& shape() const { return extents; }
  template <class F>
  void each(F&& f) const {  // f(offset in dense, offset in the diagonals)
    const Index rows = extents[0], cols = extents[1], width = below + 1 + above;
    for (Index r = 0; r < rows; ++r)
      for (Index d = std::max<Index>(0, below - r); d < width && r - below + d < cols; ++d)
        f(r * cols + r - below + d, r * width + d);
  }
  Dense to_dense() const {
    Dense x = Dense::zeros(diagonals.dtype(), extents);
    each([&](Index i, Index j) { x.values.put(i, diagonals, j); });
    return x;
  }
  static void check(const Spec& s) {
    if (s.integer("below") < 0 || s.integer("above", 0) < 0) fail_usage("banded: a negative width");
  }
  static Banded pack(const Dense& x, const Mask& keep, const Spec& s) {
    check_same_shape(x, keep);
    if (x.extents.size() != 2)
      fail("banded: expected a matrix, got shape {}", to_string(x.extents));
    Banded b{x.extents, s.integer("below"), s.integer("above", 0), {}};
    b.diagonals = Values(x.dtype(), x.extents[0] * (b.below + 1 + b.above));
    Index held = 0;
    b.each([&](Index i, Index j) {
      if (!keep[i]) return;
      b.diagonals.put(j, x.values, i);
      ++held;
    });
    if (held != keep.count()) fail("banded: a kept entry is off the band");
    return b;
  }
};
static_assert(Layout<Banded>);

Registry& local() {
  static Registry& r = *[] {
    static Registry own;
    own.add_layout<Banded>(Spec::parse("banded:below=1,above=1"));
    return &own;
  }();
  return r;
}

}  // namespace

TEST_CASE("a user's layout packs, saves and loads its parts") {
  const Dense x = Dense::of({3, 4}, {1, 2, 0, 0, 3, 4, 5, 0, 0, 6, 7, 8});
  const Tensor t = local().pack(x, nonzero_mask(x), Spec::parse("banded:below=1,above=1"));
  CHECK(t.layout() == "banded");
  const Stored s = t.save();
  CHECK(s.layout.str() == "banded:below=1,above=1");
  REQUIRE(s.parts.size() == 1);
  CHECK(s.parts[0].shape == Shape{3, 3});
  CHECK(numbers<float>(s, "diagonals") == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(s.dtype == DType::F32);
  const Tensor again = local().load(s);
  CHECK(same_bits(again.to_dense(), x));
  CHECK(same_parts(again.save(), s));
  CHECK(same_mask(again.stored(), nonzero_mask(x)));
  CHECK(again.as<Banded>().above == 1);
}

TEST_CASE("the spec of a user's layout omits default values") {
  const Dense x = Dense::of({2, 2}, {1, 0, 2, 3});
  const Tensor t = local().pack(x, nonzero_mask(x), Spec::parse("banded:below=1,above=0"));
  CHECK(t.save().layout.str() == "banded:below=1");
  CHECK(same_bits(local().load(t.save()).to_dense(), x));
}

TEST_CASE("invalid specs, entries and parts of a user's layout are rejected") {
  const Dense x = Dense::of({2, 2}, {1, 5, 2, 3});
  const auto why = [&](const char* spec) {
    return error_of([&] { local().pack(x, nonzero_mask(x), Spec::parse(spec)); });
  };
  CHECK(has(why("banded:below=1"), "off the band"));
  CHECK(has(why("banded:below=-1"), "negative width"));
  CHECK(has(why("banded"), "missing 'below'"));
  CHECK(has(why("banded:below=1,abov=1"), "did you mean 'above'?"));
  CHECK(has(why("bandet:below=1"), "did you mean 'banded'?"));
  Stored s = local().pack(x, nonzero_mask(x), Spec::parse("banded:below=1,above=1")).save();
  s.parts[0].shape = {3, 2};
  CHECK(has(error_of([&] { local().load(s); }), "[3, 2]"));
  CHECK(fault_of([&] { registry().load(s); }) == Fault::usage);
}

TEST_CASE("a user's layout preserves elements of every movable dtype bit for bit") {
  Dice dice(1);
  for (DType type : movable_dtypes()) {
    const Dense x = any_bits(dice, type, {7, 5});
    Mask band = Mask::none({7, 5});
    for (Index r = 0; r < 7; ++r)
      for (Index c = 0; c < 5; ++c) band.set(r * 5 + c, c <= r + 2 && r <= c + 1);
    const Tensor t = local().pack(x, band, Spec::parse("banded:below=1,above=2"));
    CHECK(same_bits(t.to_dense(), masked_by(x, band)));
    CHECK(same_bits(local().load(t.save()).to_dense(), masked_by(x, band)));
  }
}
