// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/entries.h"

#include <doctest/doctest.h>

#include "libsten/core/layout/coo.h"
#include "libsten/core/registry/structure.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

Dense noise(Dice& dice, const Shape& shape) {
  Dense x = Dense::zeros(DType::F32, shape);
  for (float& f : x.values.mutate<float>()) f = static_cast<float>(dice.uniform()) + 0.5f;
  return x;
}

std::vector<Index> listed(const Mask& m) {
  std::vector<Index> at;
  for (Index i = 0; i < m.size(); ++i)
    if (m[i]) at.push_back(i);
  return at;
}

}  // namespace

TEST_CASE("the entries of a sparse tensor are its stored positions and their values, in order") {
  Dice dice(1);
  for (const char* layout :
       {"csr", "csc", "coo", "ell", "bcsr:h=4,w=3", "bitmask", "nm:n=2,m=4", "nm:n=2,m=4,axis=0",
        "nmg:n=2,m=4,g=2", "nmg:n=1,m=4,g=2,axis=1", "nmgv:n=2,m=3,g=1,v=2,w=3", "csr:dims=1.0",
        "csc:dims=2.1", "coo:dims=2.0", "ell:dims=1.2"}) {
    CAPTURE(layout);
    const Spec spec = Spec::parse(layout);
    for (const Shape& shape : {Shape{13, 26}, Shape{3, 5, 8}, Shape{0, 5}, Shape{4, 0, 3}}) {
      if (spec.has("dims") && shape.size() < 3) continue;
      CAPTURE(to_string(shape));
      const Dense x = noise(dice, shape);
      const Spec sparsifier =
          is_structure(spec) ? own_sparsifier(spec) : Spec::parse("random:fraction=0.8");
      const Tensor t = registry().prune(x, sparsifier, spec);
      const auto e = entries_of(t);
      REQUIRE(e.has_value());
      CHECK(e->extents == shape);
      CHECK(e->at == listed(t.stored()));
      const Dense dense = t.to_dense();
      const auto all = dense.values.as<float>(), some = e->values.as<float>();
      REQUIRE(std::ssize(some) == e->size());
      for (Index k = 0; k < e->size(); ++k) CHECK(some[k] == all[e->at[k]]);
    }
  }
  CHECK(!entries_of(noise(dice, {4, 4})).has_value());
}

TEST_CASE("is_far_larger_dense is true only if the dense form takes much memory") {
  const auto coo = [](const Shape& shape) {
    return Tensor(Coo{shape, {}, {3}, {5}, Values(DType::F32, 1)});
  };
  CHECK(!is_far_larger_dense(coo({100, 100})));
  CHECK(is_far_larger_dense(coo({30'000, 30'000})));
  CHECK(is_far_larger_dense(coo({(Index{1} << 31) - 1, Index{1} << 28})));
  CHECK(!is_far_larger_dense(coo({Index{1} << 30, 0})));
}

TEST_CASE("check_nmg_holds accepts exactly the positions that nmg and nmgv can pack") {
  Dice dice(2);
  int held = 0;
  for (int round = 0; round < 300; ++round) {
    const Shape shape{1 + dice.below(9), 1 + dice.below(30)};
    const char* specs[] = {"nmg:n=1,m=4,g=2", "nmg:n=2,m=4,g=1", "nmg:n=1,m=3,g=2,axis=1",
                           "nmgv:n=1,m=3,g=2,v=2,w=3", "nmgv:n=2,m=3,g=1,v=1,axis=1"};
    const Spec spec = Spec::parse(specs[round % std::size(specs)]);
    Mask m = Mask::none(shape);
    for (Index i = 0; i < m.size(); ++i) m.set(i, dice.below(6) == 0);
    const Dense x = noise(dice, shape);
    const std::string packed = error_of([&] { registry().pack(x, m, spec); });
    CHECK(error_of([&] { check_nmg_holds(shape, listed(m), spec); }).empty() == packed.empty());
    held += packed.empty();
  }
  CHECK(held > 20);
  CHECK(held < 280);
}

TEST_CASE("csc and coo convert to each other directly, without row pointers") {
  Dice dice(3);
  for (const char* dims : {"", ":dims=1.0", ":dims=2.0"}) {
    const Shape shape{5, 6, 7};
    const Dense x = noise(dice, shape);
    const Tensor csc = registry().prune(x, Spec::parse("random:fraction=0.7"),
                                        Spec::parse(std::string("csc") + dims));
    Route route;
    const Tensor coo = convert(csc, Spec::parse(std::string("coo") + dims), &route);
    CHECK(route.str() == "csc -> coo");
    const Dense kept = csc.to_dense();
    const auto same = [&](const Tensor& t) {
      return std::ranges::equal(t.to_dense().values.as<float>(), kept.values.as<float>());
    };
    CHECK(same(coo));
    CHECK(same(convert(coo, csc.spec())));
    (void)load<Coo>(coo.save());  // sorted, as load() checks
    (void)load<Csc>(convert(coo, csc.spec()).save());
  }
  const Index most = (Index{1} << 31) - 1;
  const Csc tall{{most, 1}, {}, {0, 2}, {5, 7}, Values(DType::F32, 2)};
  const Tensor coo = convert(Tensor(tall), Spec("coo"));
  CHECK(coo.as<Coo>().row[1] == 7);
  CHECK(convert(coo, Spec("csc")).as<Csc>().index[1] == 7);
}
