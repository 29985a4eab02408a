// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/dispatch/sparsify.h"

#include <doctest/doctest.h>

#include "libsten/core/base/fallback.h"
#include "libsten/core/layout/coo.h"
#include "libsten/core/sparsify/magnitude.h"
#include "libsten/core/sparsify/nmg_fit.h"
#include "libsten/core/sparsify/resparsify.h"
#include "tests/support/parts.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::string plan_of(const char* by, const char* from, const char* to) {
  return plan_sparsify(registry().sparsifier(Spec::parse(by)), Spec::parse(from), Spec::parse(to))
      .text;
}

// Every second element of the dense form.
struct Second {
  static constexpr const char* name = "user-second";
  Mask select(const Dense& x, const Hints&) const {
    Mask m = Mask::none(x.extents);
    for (Index i = 1; i < x.size(); i += 2) m.set(i, true);
    return m;
  }
  static Second make(const Spec&) { return {}; }
};

Coo second_of(const Second&, const Coo& x, const SparsifyCall&) {
  if (x.extents[1] % 2) fail_unsupported("an odd number of columns");
  std::vector<std::int32_t> row, col;
  std::vector<float> values;
  for (std::size_t k = 0; k < x.row.size(); ++k)
    if (x.col[k] % 2) {
      row.push_back(x.row[k]);
      col.push_back(x.col[k]);
      values.push_back(x.values.as<float>()[k]);
    }
  Coo out{x.extents, x.dims, Array<std::int32_t>(row.size()), Array<std::int32_t>(col.size()),
          Values(DType::F32, std::ssize(values))};
  std::copy(row.begin(), row.end(), out.row.mutate());
  std::copy(col.begin(), col.end(), out.col.mutate());
  std::copy(values.begin(), values.end(), out.values.mutate<float>().begin());
  return out;
}

struct AboveOne {
  static constexpr const char* name = "user-above-one";
  bool keep(float v, Index) const { return v > 1; }
  static AboveOne make(const Spec&) { return {}; }
};

struct StrictScope {
  StrictScope() { set_strict(true); }
  ~StrictScope() { set_strict(false); }
};

}  // namespace

TEST_CASE("a plan describes in one line how a sparsifier is applied") {
  CHECK(plan_of("magnitude:sparsity=0.5", "csr", "csr") == "magnitude(csr) -> csr: exact");
  CHECK(plan_of("threshold:at=1", "bitmask", "bitmask") == "threshold(bitmask) -> bitmask: exact");
  CHECK(plan_of("nmg:n=2,m=4,g=2", "dense", "nmg:n=2,m=4,g=2") ==
        "nmg(dense) -> nmg:n=2,m=4,g=2: exact");
  CHECK(plan_of("nmg:n=2,m=4,g=2", "nmg:n=2,m=4,g=2", "nmg:n=2,m=4,g=2") ==
        "nmg(nmg:n=2,m=4,g=2) -> nmg:n=2,m=4,g=2: exact");
  CHECK(plan_of("relu", "dense", "csr") == "relu(dense) -> csr: selects, then packs");
  CHECK(plan_of("relu", "masked", "masked") == "relu(masked) -> masked: selects of the dense form");
  CHECK(plan_of("keep-all", "csc", "ell") ==
        "keep-all(csc) -> ell: a conversion, csc -> csr -> ell");
  CHECK(plan_of("magnitude:sparsity=0.5", "csc", "ell") ==
        "magnitude(csc) -> ell: no implementation for these layouts; csc -> csr, magnitude(csr) -> "
        "csr, csr -> ell (cost 2)");
  CHECK(plan_of("magnitude:sparsity=0.5", "csr", "dense") ==
        "magnitude(csr) -> dense: no implementation for these layouts; magnitude(csr) -> csr, csr "
        "-> dense (cost 8)");
}

TEST_CASE("a user's sparsifier runs directly, after lossless conversions, or by dense fallback") {
  const Second second;
  const Spec coo("coo"), csr("csr"), csc("csc");
  Dice dice(1);
  const Dense x = normals(dice, {6, 8}), odd = normals(dice, {6, 7});
  const Mask some = random_mask(dice, {6, 8}, 0.5);
  const Tensor t = packed(x, some, "csr");
  Mask want = second.select(x, {});
  for (Index i = 0; i < want.size(); ++i) want.set(i, want[i] && some[i]);
  registry().add_sparsifier<Second>(Spec(Second::name));
  {
    const Warnings warnings;
    const SparsifyPlan plan = plan_sparsify(second, csr, csr);
    CHECK(plan.kind == DispatchKind::dense);
    CHECK(plan.is_fallback);
    CHECK(same_parts(sparsify(t, second, csr).save(), packed(x, want, "csr").save()));
    CHECK(warnings.all == std::vector<std::string>{plan.text});
    // No sparse tensor becomes dense here.
    sparsify(x, second, csr);
    sparsify(packed(x, some, "masked"), second, csr);
    CHECK(warnings.all.size() == 1);
  }
  add_sparsifier_implementation<Second, Coo, Coo>(second_of);
  const StrictScope strict;
  CHECK(plan_sparsify(second, coo, coo).text == "user-second(coo) -> coo: exact");
  CHECK(plan_sparsify(second, csr, csc).text ==
        "user-second(csr) -> csc: no implementation for these layouts; csr -> coo, "
        "user-second(coo) -> coo, coo -> csc (cost 2)");
  for (const char* to : {"csr", "csc", "coo", "dense", "masked", "ell", "bitmask"})
    CHECK(same_parts(sparsify(t, second, Spec(to)).save(), packed(x, want, to).save()));
  // An implementation that declines the call.
  CHECK(error_of([&] { sparsify(packed(odd, "coo"), second, coo); }) ==
        "strict: user-second(coo) -> coo: an odd number of columns; selects of the dense form");
  // Replacing the sparsifier removes its implementations.
  registry().add_sparsifier<Second>(Spec(Second::name));
  CHECK(plan_sparsify(second, coo, coo).kind == DispatchKind::dense);
}

TEST_CASE("pruning that also returns the mask uses the sparsifier's dense implementation") {
  registry().add_sparsifier<AboveOne>(Spec(AboveOne::name));
  static int runs = 0;
  add_sparsifier_implementation<AboveOne, Dense, Coo>(
      [](const AboveOne& s, const Dense& x, const SparsifyCall& call) {
        ++runs;
        return Coo::pack(x, Sparsifier(s).select(x), call.layout);
      });
  const Dense x = Dense::of({2, 3}, {1, 2, 3, 0, 5, -6});
  Mask kept;
  const Tensor t = registry().prune(x, AboveOne{}, Spec("coo"), {}, &kept);
  CHECK(runs == 1);
  CHECK(ones_of(kept) == std::vector<int>{0, 1, 1, 0, 1, 0});
  CHECK(same_mask(t.stored(), kept));
}

TEST_CASE("resparsify applies the tensor's own sparsifier, and fails without one") {
  Dice dice(2);
  const Spec nmg = Spec::parse("nmg:n=2,m=4,g=2");
  const Sparsifier own = registry().sparsifier(nmg);
  const Tensor t = registry().prune(normals(dice, {12, 30}), nmg, nmg);
  const Tensor again = sparsify(t, Resparsify{}, nmg, {nullptr, nullptr, &own});
  CHECK(same_bits(again.to_dense(), t.to_dense()));
  CHECK(has(error_of([&] { sparsify(t, Resparsify{}, nmg); }), "has no own sparsifier"));
  const Sparsifier itself = Resparsify{};
  CHECK(has(error_of([&] {
              sparsify(t, itself, nmg, {nullptr, nullptr, &itself});
            }),
            "has no own sparsifier"));
}

TEST_CASE("magnitude selection on a large csr tensor matches selection on its dense form") {
  // More elements than are sorted at once, with equal magnitudes on both sides of the boundary.
  Dice dice(3);
  const Shape shape{400, 500};
  Dense x = normals(dice, shape);
  for (float& v : x.values.mutate<float>()) v = std::round(v * 4) / 4;
  const Mask some = random_mask(dice, shape, 0.3);
  const Tensor t = packed(x, some, "csr");
  const Dense dense = t.to_dense();
  for (const double sparsity : {0.0, 0.1, 0.7, 0.72, 0.74, 0.8, 0.9, 0.99, 1.0}) {
    CAPTURE(sparsity);
    Mask want = Sparsifier(Magnitude{sparsity}).select(dense);
    for (Index i = 0; i < want.size(); ++i) want.set(i, want[i] && some[i]);
    for (const int n : {1, 3}) {
      const Threads scope(n);
      CHECK(same_mask(sparsify(t, Magnitude{sparsity}, Spec("csr")).stored(), want));
    }
  }
}

TEST_CASE("sparsifiers on a large csr tensor match their dense selection on 1 and 3 threads") {
  Dice dice(4);
  const Shape shape{403, 511};
  const Mask some = random_mask(dice, shape, 0.3);
  const Tensor t = packed(normals(dice, shape), some, "csr");
  for (const char* by : {"threshold:at=1", "random:fraction=0.5,seed=3", "nm:n=1,m=4,axis=0",
                         "block-magnitude:sparsity=0.7,h=4,w=8", "nmg:n=1,m=4,g=4"}) {
    CAPTURE(std::string(by));
    const Sparsifier s = registry().sparsifier(Spec::parse(by));
    Mask want = s.select(t.to_dense());
    for (Index i = 0; i < want.size(); ++i) want.set(i, want[i] && some[i]);
    for (const int n : {1, 3}) {
      const Threads scope(n);
      CHECK(same_mask(sparsify(t, s, Spec("csr")).stored(), want));
    }
  }
}
