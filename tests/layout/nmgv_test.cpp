// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nmgv.h"

#include <doctest/doctest.h>

#include "libsten/core/layout/convert.h"
#include "libsten/core/registry/route.h"
#include "libsten/core/sparsify/nmgv_fit.h"
#include "libsten/core/tensor/occupancy.h"
#include "tests/support/laws.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int>;

Tensor tiled(const Dense& x, const Spec& spec) {
  return registry().prune(x, spec, layout_alone(spec));
}
Tensor tiled(const Dense& x, std::string_view spec) { return tiled(x, Spec::parse(spec)); }

double energy_of_mask(const Dense& x, const Mask& kept) {
  double all = 0, some = 0;
  for (Index i = 0; i < x.size(); ++i) {
    const double v = std::abs(x.values.as<float>()[i]);
    all += v;
    some += kept[i] ? v : 0;
  }
  return some / all;
}

}  // namespace

TEST_CASE("nmgv stores the kept tiles of each pattern row-major, with their tile columns") {
  // Tiles of 2 x 2; patterns of 1:2 are 0 and 1. Rows of tiles 0 and 1, columns 0 and 1.
  const Dense x = Dense::of({4, 4}, {0, 0, 1, 2,  //
                                     0, 0, 3, 4,  //
                                     5, 6, 0, 0,  //
                                     7, 8, 0, 0});
  const Tensor t = packed(x, "nmgv:n=1,m=2,g=1,v=2");
  const Stored s = t.save();
  CHECK(s.layout.str() == "nmgv:n=1,m=2,g=1,v=2");
  CHECK(s.parts[0].shape == Shape{1, 1, 2, 1, 1, 4});
  CHECK(s.parts[1].shape == Shape{1, 1, 2, 1});
  CHECK(bytes_of(s, "index") == Ints{1, 0});
  CHECK(numbers<float>(s, "values") == Floats{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(same_bits(t.to_dense(), x));
  CHECK(t.padding() == 0);
  // Pruned elements inside of a kept tile are 0 and count as stored.
  Mask some = nonzero_mask(x);
  some.set(2, false);
  const Tensor less = packed(x, some, "nmgv:n=1,m=2,g=1,v=2");
  CHECK(numbers<float>(less.save(), "values") == Floats{0, 2, 3, 4, 5, 6, 7, 8});
  CHECK(less.stored().count() == 8);
}

TEST_CASE("nmgv pads ragged edges in both directions with partial and whole tiles") {
  // In tiles of 2 x 2, the last column of tiles is 1 wide and the last row of tiles 1 high.
  const Dense x = Dense::of({3, 3}, {1, 2, 0,  //
                                     3, 4, 0,  //
                                     0, 0, 5});
  const Tensor t = packed(x, "nmgv:n=1,m=2,g=1,v=2");
  CHECK(bytes_of(t.save(), "index") == Ints{0, 1});
  CHECK(numbers<float>(t.save(), "values") == Floats{1, 2, 3, 4, 5, 0, 0, 0});
  CHECK(same_bits(t.to_dense(), x));
  CHECK(ones_of(t.stored()) == Ints{1, 1, 0, 1, 1, 0, 0, 0, 1});
  CHECK(t.padding() == doctest::Approx(16.0 / 9 - 1));
  const Tensor wide = packed(Dense::of({1, 1}, {7}), "nmgv:n=1,m=4,g=2,v=32");
  CHECK(wide.save().parts[0].shape == Shape{1, 1, 4, 2, 1, 64});
  CHECK(wide.to_dense().values.as<float>()[0] == 7);
}

TEST_CASE("nmgv with 1 x 1 tiles stores the same parts as n:m:g, also with axis and dims") {
  Dice dice(1);
  for (const char* rest : {"n=2,m=4,g=2", "n=1,m=4,g=3,axis=1", "n=1,m=2,g=2,dims=1.2",
                           "n=1,m=3,g=2,axis=1,dims=2.0"}) {
    CAPTURE(rest);
    const Dense x = normals(dice, {7, 13, 10});
    const Stored a = tiled(x, fmt::format("nmg:{}", rest)).save();
    const Tensor t = tiled(x, Spec::parse(fmt::format("nmgv:{}", rest)).set("v", 1).set("w", 1));
    const Stored b = t.save();
    for (int p = 0; p < 2; ++p)
      CHECK(numbers<std::uint8_t>(a.parts[p]) == numbers<std::uint8_t>(b.parts[p]));
    CHECK(a.parts[1].shape == b.parts[1].shape);
    CHECK(same_bits(t.to_dense(), registry().load(a).to_dense()));
  }
}

TEST_CASE("axis 1 transposes the matrix of tiles but not the tiles") {
  // One row of tiles of 2 x 1 with four columns, pruned to 1 of 2.
  const Dense x = Dense::of({2, 4}, {1, 0, 0, 3, 2, 0, 0, 4});
  const Stored s = packed(x, "nmgv:n=1,m=2,g=1,v=2,w=1,axis=1").save();
  CHECK(s.parts[0].shape == Shape{2, 1, 2, 1, 1, 2});
  CHECK(numbers<float>(s, "values") == Floats{1, 2, 0, 0, 0, 0, 3, 4});
  CHECK(error_of([&] { packed(x, "nmgv:n=1,m=2,g=1,v=2,w=1"); }) == "");
}

TEST_CASE("nmgv rejects a chunk without a placement and reports its position in tiles") {
  Dense x = Dense::zeros(DType::F32, {8, 8});
  for (const Index i : {0, 4 * 8}) x.values.mutate<float>()[i] = 1;
  const std::string strip = error_of([&] { packed(x, "nmgv:n=1,m=2,g=1,v=4"); });
  CHECK(has(strip, "nmgv:n=1,m=2,g=1,v=4, counted in tiles, cannot hold column 0"));
  CHECK(has(strip, "more than 1 positions"));
  Dense y = Dense::zeros(DType::F32, {8, 8});
  for (const Index i : {0, 2}) y.values.mutate<float>()[i] = 1;
  CHECK(has(error_of([&] { packed(y, "nmgv:n=1,m=2,g=1,v=4"); }),
            "rows 0 to 1, columns 0 to 1: no assignment uses every pattern exactly 1 times"));
  CHECK(error_of([&] { packed(y, "nmgv:n=1,m=2,g=2,v=4"); }) == "");
}

TEST_CASE("nmgv rejects invalid specs and specs with excessive padding") {
  for (const char* wrong :
       {"nmgv", "nmgv:n=1,m=2,g=1", "nmgv:n=1,m=2,g=1,v=0", "nmgv:n=1,m=2,g=1,v=-4",
        "nmgv:n=1,m=2,g=1,v=4,w=0", "nmgv:n=1,m=2,g=1,v=65537,w=1", "nmgv:n=1,m=2,g=1,v=32769",
        "nmgv:n=1,m=2,g=1,v=9223372036854775807,w=9223372036854775807", "nmgv:n=3,m=2,g=1,v=4",
        "nmgv:n=0,m=2,g=1,v=4", "nmgv:n=1,m=2,g=0,v=4", "nmgv:n=1,m=2,g=32769,v=4",
        "nmgv:n=9,m=20,g=1,v=4", "nmgv:n=1,m=2,g=1,v=4,axis=2", "nmgv:n=1,m=2,g=1,v=4,dims=1.1",
        "nmgv:n=1,m=2,g=1,v=4,fit=greedy", "nmgv:n=1,m=2,g=1,v=x", "nmgv:n=1,m=2,g=1,v=4,h=1"}) {
    CAPTURE(wrong);
    CHECK(fault_of([&] { registry().check_layout(Spec::parse(wrong)); }) == Fault::usage);
  }
  CHECK(error_of([] { registry().check_layout(Spec::parse("nmgv:n=1,m=2,g=1,v=32768")); }) == "");
  // The padding would take gigabytes.
  const Spec absurd = Spec::parse("nmgv:n=1,m=2,g=30000,v=32768");
  const Dense x = Dense::zeros(DType::F32, {4, 4});
  CHECK(has(error_of([&] { registry().pack(x, Mask::all({4, 4}), absurd); }), "far "));
  CHECK(has(error_of([&] { registry().sparsifier(absurd).select(x); }), "far "));
  const Positions all = Positions::of(Mask::all({4, 4}));
  CHECK(!registry().bytes(absurd, Occupancy(4, all)));
}

TEST_CASE("nmgv rejects corrupted parts") {
  const Stored good =
      packed(Dense::of({3, 3}, {1, 2, 0, 3, 4, 0, 0, 0, 5}), "nmgv:n=1,m=2,g=1,v=2").save();
  const auto after = [&](auto&& change) {
    Stored s = good;
    for (Part& p : s.parts) p.bytes.mutate();
    change(s);
    return error_of([&] { registry().load(s); });
  };
  CHECK(after([](Stored&) {}) == "");
  CHECK(has(after([](Stored& s) { set_number<std::uint8_t>(part(s, "index"), 0, 2); }),
            "index 2 is out of range for 2 strips"));
  CHECK(has(after([](Stored& s) { set_number<std::uint8_t>(part(s, "index"), 0, 1); }),
            "strip 1 occurs twice"));
  for (const Index slot : {5, 6, 7})
    CHECK(has(after([&](Stored& s) { set_number<float>(part(s, "values"), slot, 1); }),
              "stored tile 1: a value in padding is not 0"));
  CHECK(has(after([](Stored& s) {
              part(s, "index").dtype = DType::U16;
              part(s, "index").bytes = Array<std::byte>(4);
            }),
            "U16"));
  for (const char* wrong : {"nmgv:n=1,m=2,g=1,v=4", "nmgv:n=1,m=2,g=1,v=2,w=1",
                            "nmgv:n=1,m=2,g=2,v=2", "nmgv:n=2,m=2,g=1,v=2", "nmgv:n=1,m=2,g=1,v=0",
                            "nmgv:n=1,m=2,g=1", "nmgv:n=1,m=2,g=1,v=4294967296,w=4294967296"}) {
    CAPTURE(wrong);
    CHECK(after([&](Stored& s) { s.layout = Spec::parse(wrong); }) != "");
  }
  CHECK(after([](Stored& s) { s.shape = {4, 4}; }) == "");  // padding becomes an element
  for (const Shape& wrong : {Shape{5, 3}, Shape{3, 5}, Shape{9}, Shape{}, Shape{0, 3},
                             Shape{Index{1} << 40, Index{1} << 40}})
    CHECK(after([&](Stored& s) { s.shape = wrong; }) != "");
}

TEST_CASE("nmgv fits like n:m:g on tile sums, and fused pruning matches selecting and packing") {
  Dice dice(2);
  const std::vector<std::string> rests{
      "n=2,m=4,g=2",          "n=1,m=4,g=3,axis=1",         "n=1,m=8,g=1",
      "n=2,m=3,g=30",         "n=1,m=5,g=3,fit=greedy",     "n=2,m=5,g=1,fit=swaps",
      "n=1,m=2,g=2,dims=1.2", "n=1,m=4,g=2,dims=2.1,axis=1"};
  for (int round = 0; round < 80; ++round) {
    Spec spec = Spec::parse("nmgv:" + rests[round % rests.size()]);
    spec.set("v", dice.one_of<Index>({1, 3, 4, 16})).set("w", dice.one_of<Index>({1, 2, 5}));
    const DType dtype = prunable_dtypes()[round % prunable_dtypes().size()];
    const Index rows = 1 + dice.below(70), cols = 1 + dice.below(90);
    const Shape shape = spec.has("dims") ? Shape{2, rows, cols} : Shape{rows, cols};
    const Dense x = any_bits(dice, dtype, shape);
    const std::string where = fmt::format("{} {} {}", spec.str(), name_of(dtype), to_string(shape));
    const NmgvFit fit = NmgvFit::make(spec);
    const Nmg tiles = fit.tiles.fit(fit.sums(x));
    const Mask expected = registry().sparsifier(spec).select(x);
    for (const int threads : {1, 3}) {
      const Threads scope(threads);
      Mask kept;
      const Tensor t = registry().prune(x, spec, layout_alone(spec), {}, &kept);
      const Stored s = t.save();
      CHECK_MESSAGE(same_mask(kept, expected), where);
      CHECK_MESSAGE(
          numbers<std::uint8_t>(s.parts[1]) == numbers<std::uint8_t>(Tensor(tiles).save().parts[1]),
          where);
      CHECK_MESSAGE(same_parts(registry().pack(x, kept, t.spec()).save(), s), where);
      CHECK_MESSAGE(same_parts(registry().load(s).save(), s), where);
      CHECK_MESSAGE(same_bits(t.to_dense(), masked_by(x, expected)), where);
    }
  }
}

TEST_CASE("nmgv to csr and back is lossless and keeps the stored positions") {
  Dice dice(3);
  for (const char* spec : {"nmgv:n=1,m=4,g=2,v=4", "nmgv:n=2,m=4,g=1,v=3,w=5,axis=1"}) {
    const Dense x = normals(dice, {37, 61});
    const Tensor t = tiled(x, spec);
    Route route;
    const Tensor csr = convert(t, Spec("csr"), &route);
    CHECK(route.str() == "nmgv -> csr");
    CHECK(same_mask(csr.stored(), t.stored()));
    CHECK(same_parts(convert(csr, t.spec()).save(), t.save()));
    const auto e = entries_of(t);
    REQUIRE(e);
    CHECK(same_bits(Tensor(to_csr(*e, {})).to_dense(), t.to_dense()));
  }
}

TEST_CASE("nmgv keeps the expected energy of normally distributed values at each tile size") {
  Dice dice(4);
  const Dense x = normals(dice, {768, 768});
  const auto kept = [&](Index n, Index m, Index v, Index w) {
    Spec spec("nmgv");
    spec.set("n", n).set("m", m).set("g", 48).set("v", v).set("w", w);
    return energy_of_mask(x, registry().sparsifier(spec).select(x));
  };
  const auto near = [](double got, double wanted) { return std::abs(got - wanted) < 0.003; };
  CHECK(near(kept(1, 4, 4, 1), 0.351));
  CHECK(near(kept(1, 4, 16, 1), 0.300));
  CHECK(near(kept(1, 4, 32, 1), 0.285));
  CHECK(near(kept(1, 4, 16, 2), 0.285));
  CHECK(near(kept(1, 4, 32, 2), 0.275));  // a random choice keeps 0.25
  CHECK(near(kept(1, 2, 32, 1), 0.538));
}
