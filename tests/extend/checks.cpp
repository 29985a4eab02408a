// SPDX-License-Identifier: Apache-2.0
// A user-defined layout and sparsifier work like the built-in ones.
#include <doctest/doctest.h>

#include "libsten/core/base/fallback.h"
#include "libsten/core/dispatch/sparsify.h"
#include "libsten/core/registry/route.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// 1 2 0 0
// 3 0 4 0
// 0 0 0 5
Dense x() { return Dense::of({3, 4}, {1, 2, 0, 0, 3, 0, 4, 0, 0, 0, 0, 5}); }
Stored banded() { return packed(x(), "banded:k=1").save(); }

template <class F>
std::string after(F change) {
  Stored s = banded();
  change(s);
  return error_of([&] { registry().load(s); });
}

}  // namespace

TEST_CASE("a layout and a sparsifier linked into a program are in its registry") {
  const auto names = [](const auto& examples) {
    std::vector<std::string> v;
    for (const auto& e : examples) v.push_back(e.name + " " + e.spec.str());
    return v;
  };
  const auto layouts = names(registry().layouts()), sparsifiers = names(registry().sparsifiers());
  CHECK(std::count(layouts.begin(), layouts.end(), "banded banded:k=1") == 1);
  CHECK(std::count(sparsifiers.begin(), sparsifiers.end(), "row-share row-share:of=0.5") == 1);
  CHECK(has(error_of([] { registry().check_layout(Spec("bandet")); }), "did you mean 'banded'?"));
  CHECK(has(error_of([] { registry().check_layout(Spec::parse("banded:m=1")); }), "no key 'm'"));
}

TEST_CASE("the banded layout has a single part: the values of its diagonals") {
  const Stored s = banded();
  CHECK(s.layout.str() == "banded:k=1");
  REQUIRE(s.parts.size() == 1);
  CHECK(s.parts[0].shape == Shape{3, 3});
  CHECK(numbers<float>(s, "values") == std::vector<float>{0, 1, 2, 3, 0, 4, 0, 0, 5});
  const Tensor t = registry().load(s);
  CHECK(same_bits(t.to_dense(), x()));
  CHECK(t.has_fillers());
  CHECK(ones_of(t.stored()) == std::vector<int>{1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1});
  CHECK(t.padding() == doctest::Approx(9.0 / 8 - 1));
}

TEST_CASE("packing as banded rejects positions outside the band and an invalid k") {
  const auto why = [](const char* spec, const Dense& d) {
    return error_of([&] { packed(d, spec); });
  };
  CHECK(has(why("banded:k=0", x()), "banded:k=0 has no slot for 4 of the 5 kept positions"));
  CHECK(why("banded:k=4", x()) == "");
  CHECK(has(why("banded:k=5", x()), "shape [3, 4] has no band of k=5"));
  CHECK(has(why("banded:k=-1", x()), "no band of k=-1"));
  CHECK(has(why("banded", x()), "missing 'k'"));
  CHECK(has(why("banded:k=1", Dense::zeros(DType::F32, {4})), "shape [4] has no band"));
  CHECK(why("banded:k=0", Dense::zeros(DType::F32, {0, 4})) == "");
  CHECK(
      has(why("banded:k=0", Dense::zeros(DType::F32, {1 << 30, 0})), "an empty tensor would need"));
}

TEST_CASE("every dtype round-trips bit for bit between banded and other layouts") {
  Dice dice(1);
  for (const DType dtype : movable_dtypes())
    for (const Shape& shape : {Shape{7, 5}, Shape{5, 7}, Shape{1, 9}, Shape{9, 1}, Shape{6, 6}}) {
      const Dense d = any_bits(dice, dtype, shape);
      const Mask band = registry().load(packed(d, Mask::none(shape), "banded:k=1").save()).stored();
      const Tensor t = registry().load(packed(d, band, "banded:k=1").save());
      CHECK(same_bits(t.to_dense(), masked_by(d, band)));
      for (const char* to : {"csr", "bitmask", "bcsr:h=2,w=2", "masked", "banded:k=1"}) {
        const Tensor repacked = convert(t, Spec::parse(to));
        CHECK(same_mask(repacked.stored(), band));
        CHECK(same_parts(convert(repacked, Spec::parse("banded:k=1")).save(), t.save()));
      }
    }
}

TEST_CASE("banded converts to csr, and to layouts reachable from csr, without the dense form") {
  Dice dice(3);
  for (const Shape& shape : {Shape{7, 5}, Shape{5, 7}, Shape{9, 1}, Shape{0, 4}, Shape{6, 6}})
    for (const char* to : {"csr", "csc", "coo", "bcsr:h=2,w=3"}) {
      const Dense d = any_bits(dice, DType::BF16, shape);
      const Mask band = registry().load(packed(d, Mask::none(shape), "banded:k=1").save()).stored();
      Route route;
      const Tensor t = convert(packed(d, band, "banded:k=1"), Spec::parse(to), &route);
      CHECK(!route.through_dense());
      CHECK(same_parts(t.save(), packed(d, band, to).save()));
    }
  Route back;
  const Tensor t = convert(packed(x(), "csr"), Spec::parse("banded:k=1"), &back);
  CHECK(back.through_dense());
  CHECK(same_parts(t.save(), banded()));
  // Far larger than memory as dense.
  Stored huge = banded();
  huge.shape = {3, INT32_MAX};
  part(huge, "values").bytes = bytes_from<float>({0, 1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor wide = convert(registry().load(huge), Spec("csr"));
  CHECK(numbers<std::int32_t>(wide.save(), "index") == std::vector<int>{0, 1, 0, 1, 2, 1, 2, 3});
  huge.shape = {3, Index{1} << 40};
  CHECK(has(error_of([&] { convert(registry().load(huge), Spec("csr")); }),
            "do not fit 32-bit indices"));
}

TEST_CASE("loading rejects parts and shapes that do not match a banded spec") {
  CHECK(after([](Stored&) {}) == "");
  const auto with = [](const char* spec) {
    return after([&](Stored& s) { s.layout = Spec::parse(spec); });
  };
  CHECK(has(with("banded:k=2"), "shape [3, 3], expected [3, 5]"));
  CHECK(has(with("banded:k=4611686018427387904"), "no band"));
  CHECK(has(with("banded:k=-1"), "no band"));
  CHECK(has(with("banded"), "missing 'k'"));
  const auto shaped = [](Shape shape) { return after([&](Stored& s) { s.shape = shape; }); };
  for (const Shape& wrong : {Shape{}, Shape{3}, Shape{3, 4, 1}, Shape{4, 4}, Shape{0, 4}})
    if (shaped(wrong) == "") FAIL_CHECK("a shape of " << to_string(wrong) << " is taken");
  CHECK(has(after([](Stored& s) { set_number(part(s, "values"), 0, 1.0f); }),
            "slot 0 is beyond the tensor"));
  CHECK(has(after([](Stored& s) { part(s, "values").name = "diagonals"; }), "missing part"));
  CHECK(after([](Stored& s) { part(s, "values").dtype = DType::I32; }) != "");
}

TEST_CASE(
    "row-share keeps values of at least a given share of the largest magnitude in their row") {
  const auto keeps = [](const char* spec, const Dense& d) {
    return ones_of(registry().sparsifier(Spec::parse(spec)).select(d));
  };
  const Dense d = Dense::of({2, 4}, {4, -2, 1, 0, 0, 0, -1, 0.5});
  CHECK(keeps("row-share:of=0.5", d) == std::vector<int>{1, 1, 0, 0, 0, 0, 1, 1});
  CHECK(keeps("row-share:of=1", d) == std::vector<int>{1, 0, 0, 0, 0, 0, 1, 0});
  CHECK(keeps("row-share:of=0", d) == std::vector<int>(8, 1));
  CHECK(registry().sparsifier(Spec::parse("row-share:of=1")).kind() == Kind::blocking);
  const auto why = [](const char* spec) {
    return error_of([&] { registry().sparsifier(Spec::parse(spec)); });
  };
  CHECK(has(why("row-share:of=1.5"), "must be in [0, 1], got 1.5"));
  CHECK(has(why("row-share:off=1"), "did you mean 'of'?"));
  CHECK(has(why("row-share"), "missing 'of'"));
}

TEST_CASE("row-share selects the same positions in F32 and F64, and on 1 and 3 threads") {
  Dice dice(2);
  Dense wide = Dense::zeros(DType::F32, {300, 1000}), same = Dense::zeros(DType::F64, {300, 1000});
  for (Index i = 0; i < wide.size(); ++i) {
    wide.values.mutate<float>()[i] = static_cast<float>(dice.below(64));
    same.values.mutate<double>()[i] = wide.values.as<float>()[i];
  }
  const Sparsifier s = registry().sparsifier(Spec::parse("row-share:of=0.75"));
  const Threads one(1);
  const Mask m = s.select(wide);
  CHECK(same_mask(m, s.select(same)));
  const Threads three(3);
  CHECK(same_mask(m, s.select(wide)));
}

TEST_CASE("the csr implementation of the band sparsifier keeps the positions of the dense one") {
  Dice dice(7);
  const Dense d = any_bits(dice, DType::BF16, {9, 7});
  const Mask some = random_mask(dice, {9, 7}, 0.6);
  const Sparsifier band = registry().sparsifier(Spec::parse("band:k=2"));
  Mask want = band.select(d);
  for (Index i = 0; i < want.size(); ++i) want.set(i, want[i] && some[i]);
  const Spec banded = Spec::parse("banded:k=2");
  set_strict(true);
  const Tensor t = sparsify(packed(d, some, "csr"), band, banded);
  const Tensor sparsified = sparsify(packed(d, some, "coo"), band, banded);
  const std::string other =
      error_of([&] { sparsify(packed(d, some, "csr"), band, Spec::parse("banded:k=3")); });
  set_strict(false);
  CHECK(same_parts(t.save(), packed(d, want, "banded:k=2").save()));
  CHECK(same_parts(sparsified.save(), t.save()));
  CHECK(other == "strict: band(csr) -> banded:k=3: another band; selects of the dense form");
  CHECK(plan_sparsify(band, Spec("csr"), banded).text == "band(csr) -> banded:k=2: exact");
  CHECK(plan_sparsify(band, Spec("coo"), banded).kind == DispatchKind::converted);
}
