// SPDX-License-Identifier: Apache-2.0
// Sums over ranks of tensors whose positions are equal or differ.
#include <doctest/doctest.h>

#include "libsten/core/registry/registry.h"
#include "libsten/training/trainer/sum_over_ranks.h"
#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Values that differ by rank, pruned by magnitude so that positions can differ too.
Tensor given(int rank, const char* sparsifier, const char* layout, bool has_own_positions) {
  Dice dice(has_own_positions ? 2 + static_cast<unsigned>(rank) : 1);
  const Dense x = normals(dice, {32, 48});
  Tensor t = registry().prune(x, Spec::parse(sparsifier), Spec::parse(layout));
  return Tensor::update(std::move(t), [&](Values& v) {
    for (float& f : v.mutate<float>()) f *= static_cast<float>(rank + 1);
  });
}

struct Got {
  std::vector<SumOverRanks> sums;
  std::vector<float> wanted;
  std::uint64_t bytes = 0;
};

Got sum_of(int n, const std::function<Tensor(int)>& given) {
  Got got;
  got.sums.resize(static_cast<std::size_t>(n), {Dense::zeros(DType::F32, {}), ""});
  std::vector<Dense> all;
  for (int r = 0; r < n; ++r) all.push_back(given(r).to_dense());
  got.wanted.resize(static_cast<std::size_t>(all[0].values.size()));
  for (const Dense& x : all)
    for (std::size_t i = 0; i < got.wanted.size(); ++i) got.wanted[i] += x.values.as<float>()[i];
  in_threads(n, [&](const auto& ranks) {
    got.sums[static_cast<std::size_t>(ranks->rank())] =
        sum_over_ranks(*ranks, given(ranks->rank()));
    if (ranks->rank() == 0) got.bytes = ranks->bytes();
  });
  for (const SumOverRanks& s : got.sums) {
    CHECK(floats(s.sum.to_dense()) == got.wanted);
    CHECK(s.sum.spec() == got.sums[0].sum.spec());
    CHECK(s.plan == got.sums[0].plan);
  }
  return got;
}

constexpr std::uint64_t elements = 32 * 48;
constexpr std::uint64_t most_beside = 8 * 8;  // hashes

}  // namespace

TEST_CASE("tensors with equal positions send only values, and the sum keeps their layout") {
  struct Case {
    const char *by, *layout;
  };
  for (const Case& c :
       {Case{"magnitude:sparsity=0.75", "masked"}, Case{"magnitude:sparsity=0.75", "csr"},
        Case{"magnitude:sparsity=0.75", "bitmask"}, Case{"nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4"},
        Case{"nm:n=1,m=4", "nm:n=1,m=4"}}) {
    INFO(std::string(c.layout));
    const Got got = sum_of(3, [&](int r) { return given(r, c.by, c.layout, false); });
    CHECK(got.sums[0].sum.spec().str() == c.layout);
    CHECK(got.bytes >= elements);
    CHECK(got.bytes <= elements + most_beside);  // a quarter of 4 bytes each
    CHECK(got.sums[0].plan.find("at the same positions") != std::string::npos);
  }
}

TEST_CASE("tensors with different positions are summed at the union; n:m:g becomes masked") {
  for (const char* layout : {"masked", "csr", "coo"}) {
    const Got got =
        sum_of(2, [&](int r) { return given(r, "magnitude:sparsity=0.9", layout, true); });
    CHECK(got.sums[0].sum.spec().str() == layout);
    CHECK(got.bytes < 4 * elements / 4);
    CHECK(got.sums[0].plan.find("union of positions: rank 1 differs from rank 0") !=
          std::string::npos);
  }
  const Got got =
      sum_of(2, [&](int r) { return given(r, "nmg:n=1,m=10,g=4", "nmg:n=1,m=10,g=4", true); });
  CHECK(got.sums[0].sum.spec().str() == "masked");
}

TEST_CASE("ranks send all values if the union is nearly dense or their layouts differ") {
  const Got got =
      sum_of(4, [&](int r) { return given(r, "magnitude:sparsity=0.25", "csr", true); });
  CHECK(got.sums[0].sum.is<Dense>());
  CHECK(got.sums[0].plan.starts_with("all values: rank 1 has other positions than rank 0"));
  const Got layouts = sum_of(
      2, [&](int r) { return given(r, "magnitude:sparsity=0.75", r == 0 ? "csr" : "coo", false); });
  CHECK(layouts.sums[0].plan == "all values: rank 1 has another layout than rank 0");
}

TEST_CASE("a sum of tensors with different shapes is rejected on all ranks") {
  in_threads(2, [](const auto& ranks) {
    const Dense x = Dense::zeros(DType::F32, {2, ranks->rank() + 3});
    CHECK(error_of([&] { sum_over_ranks(*ranks, x); }) ==
          "ranks sum different tensors: F32 [2, 3] on rank 0, F32 [2, 4] on rank 1");
  });
}
