// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/nmg_greedy.h"

#include <doctest/doctest.h>

#include "libsten/core/layout/nmg_patterns.h"
#include "libsten/core/sparsify/nmg_fit.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;
using kernels::NmgCandidate;
using kernels::NmgChunk;

namespace {

using Ints = std::vector<int>;

Mask selected(const Dense& x, const std::string& spec) {
  return registry().sparsifier(Spec::parse(spec)).select(x);
}
Mask fitted(const Dense& x, const std::string& spec) { return selected(x, spec + ",fit=greedy"); }

double energy(const Dense& x, const Mask& m) {
  double kept = 0, all = 0;
  const auto v = x.values.as<float>();
  for (Index i = 0; i < x.size(); ++i) {
    all += std::abs(v[i]);
    if (m[i]) kept += std::abs(v[i]);
  }
  return kept / all;
}

// The rule taken literally: repeatedly the best candidate whose strip is free and whose pattern has
// room.
template <class T>
std::vector<std::int32_t> naive_fit(const NmgChunk<T>& c) {
  const auto strips = static_cast<std::int32_t>(c.count * c.g);
  std::vector<std::int32_t> pattern_of(strips, -1), fill(c.count);
  for (std::int32_t done = 0; done < strips; ++done) {
    std::int32_t best_s = -1, best_p = -1;
    T best = -1;
    for (std::int32_t s = 0; s < strips; ++s)
      for (std::int32_t p = 0; p < c.count; ++p) {
        const bool open = pattern_of[s] < 0 && fill[p] < c.g;
        if (!open || kernels::nmg_score(c, s, p) < best) continue;
        best = kernels::nmg_score(c, s, p);  // later strips and patterns win ties
        best_s = s;
        best_p = p;
      }
    pattern_of[best_s] = best_p;
    ++fill[best_p];
  }
  return pattern_of;
}

template <class T>
void check_fits(Dice& dice, Index n, Index m, Index g, int round) {
  const auto table = PatternTable::get(n, m);
  const Index strips = table->count() * g;
  std::vector<T> x(m * strips);
  for (T& v : x) {
    v = static_cast<T>(std::abs(dice.normal()));
    if (round % 4 == 1) v = std::floor(2 * v);                // many ties
    if (round % 4 == 2) v = dice.below(3) ? T{0} : v;         // many zeros
    if (round % 4 == 3) v = dice.below(2) ? T{1} : INFINITY;  // as NaN is ranked
    if (round == 4) v = 0;
  }
  const NmgChunk<T> chunk{x.data(), table->data(), n, m, table->count(), g};
  std::vector<NmgCandidate<T>> candidates(table->count() * strips);
  std::vector<std::int32_t> fill(table->count()), greedy(strips), lazy(strips);
  kernels::nmg_fit_greedy(chunk, candidates.data(), fill.data(), greedy.data());
  for (std::int32_t f : fill) CHECK(f == g);
  kernels::nmg_fit_greedy_lazy(chunk, candidates.data(), fill.data(), lazy.data());
  for (std::int32_t f : fill) CHECK(f == g);
  CHECK(greedy == lazy);
  if (strips * strips * table->count() < 100000) CHECK(greedy == naive_fit(chunk));
}

}  // namespace

TEST_CASE("the greedy fit of the worked example keeps 44 of 62, with known index and values") {
  const Dense x = Dense::of(
      {4, 6}, {1, -2, 3, 0, 5, -6, 4, 1, -1, 2, 0, 2, -3, 5, 2, 7, -1, 1, 2, 0, 6, -1, 4, 3});
  const Mask m = fitted(x, "nmg:n=2,m=4,g=1");
  const Stored s = packed(x, m, "nmg:n=2,m=4,g=1").save();
  CHECK(bytes_of(s, "index") == Ints{4, 1, 3, 0, 5, 2});
  CHECK(numbers<float>(s, "values") == std::vector<float>{5, 0, -2, 5, 2, 7, 4, 2, -6, 3, 2, 6});
  CHECK(energy(x, m) == doctest::Approx(44.0 / 62));
  CHECK(m.count() == 12);
}

TEST_CASE("the greedy fit breaks ties by higher column, then by higher pattern") {
  // All scores are equal: columns 3 2 1 0 take the patterns from the last on.
  const Dense ones = Dense::of({2, 4}, {1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(ones_of(fitted(ones, "nmg:n=1,m=2,g=2")) == Ints{1, 1, 0, 0, 0, 0, 1, 1});
  const Dense zeros = Dense::zeros(DType::F32, {2, 4});
  CHECK(ones_of(fitted(zeros, "nmg:n=1,m=2,g=2")) == Ints{1, 1, 0, 0, 0, 0, 1, 1});
}

TEST_CASE("greedy fits by sorting, by a heap and by the naive rule agree") {
  Dice dice(1);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    check_fits<float>(dice, 2, 4, 1 + round % 3, round);
    check_fits<double>(dice, 1, 4, 1 + round % 5, round);
    check_fits<float>(dice, 1, 2, 4, round);
    check_fits<float>(dice, 2, 3, 3, round);
    check_fits<double>(dice, 3, 3, 4, round);
    if (round % 6 == 0) check_fits<float>(dice, 3, 6, 4, round / 6);
    if (round % 6 == 0) check_fits<float>(dice, 1, 10, 4, round / 6);
    if (round % 20 == 0) check_fits<float>(dice, 4, 8, 4, round / 20);
  }
}

TEST_CASE("the greedy fit of a chunk too large to sort keeps the largest element") {
  // 2048 patterns in chunks of 4096 columns: 8 million candidates.
  Dice dice(2);
  Dense x = normals(dice, {2048, 1});
  const Mask m = fitted(x, "nmg:n=1,m=2048,g=2");
  CHECK(m.count() == 1);
  Index best = 0;
  const auto v = x.values.as<float>();
  for (Index i = 0; i < x.size(); ++i)
    if (std::abs(v[i]) > std::abs(v[best])) best = i;
  CHECK(m[best]);
}

TEST_CASE("the greedy fit is the same for any number of threads") {
  Dice dice(3);
  const Dense x = normals(dice, {203, 500});
  for (const char* spec : {"nmg:n=2,m=4,g=2", "nmg:n=1,m=10,g=4,axis=1", "nmg:n=3,m=6,g=1"}) {
    const Threads one(1);
    const Mask m = fitted(x, spec);
    for (int n : {2, 3}) {
      const Threads scope(n);
      CHECK(same_mask(fitted(x, spec), m));
    }
  }
}

TEST_CASE("the energy of greedy fits of normal values grows with g and stays below n:m") {
  // 2:4 without groups keeps 0.745 of the magnitude of normal values; 0.5 would be chance.
  Dice dice(4);
  const Dense x = normals(dice, {768, 192});  // chunks of 4 x 96
  const Mask m = fitted(x, "nmg:n=2,m=4,g=16");
  CHECK(m.count() == x.size() / 2);
  const double grouped = energy(x, m);
  const double free = energy(x, selected(x, "nm:n=2,m=4,axis=0"));
  CHECK(free > 0.735);
  CHECK(free < 0.755);
  CHECK(grouped > 0.70);
  CHECK(grouped < free);
  CHECK(energy(x, fitted(x, "nmg:n=2,m=4,g=1")) < grouped);
}

TEST_CASE("the energy of fits grows from greedy to heuristic to exact, and swaps are near exact") {
  Dice dice(8);
  const Dense x = normals(dice, {960, 1920}), few = normals(dice, {40, 1920});
  const struct {
    std::string spec;
    double energy;
  } cases[] = {{"nmg:n=2,m=4,g=16", 0.7416},
               {"nmg:n=2,m=4,g=4", 0.7330},
               {"nmg:n=1,m=10,g=16", 0.2342},
               {"nmg:n=1,m=10,g=4", 0.2295}};
  for (const auto& c : cases) {
    CAPTURE(c.spec);
    CHECK(std::abs(energy(x, selected(x, c.spec)) - c.energy) < 0.0005);
    const double exact = energy(few, selected(few, c.spec));
    const double greedy = energy(few, fitted(few, c.spec));
    CHECK(greedy < exact);
    CHECK(std::abs(energy(few, selected(few, c.spec + ",fit=swaps")) / exact - 1) < 1e-3);
    const double heuristic = energy(few, selected(few, c.spec + ",fit=heuristic"));
    CHECK(heuristic > greedy);
    CHECK(heuristic < exact);
  }
}

TEST_CASE("fitting a tensor that is already n:m:g keeps all of its values") {
  Dice dice(9);
  for (const char* spec : {"nmg:n=2,m=4,g=4", "nmg:n=1,m=10,g=3,axis=1", "nmg:n=3,m=6,g=2"}) {
    const Dense x = normals(dice, {61, 190});
    Dense y = Dense::pack(x, selected(x, spec));
    for (float& v : y.values.mutate<float>()) v *= static_cast<float>(std::exp(9 * dice.normal()));
    const Mask again = selected(y, spec);
    CHECK(same_bits(masked_by(y, again), y));
  }
}

TEST_CASE("exact and heuristic fits are the same for any number of threads in every dtype") {
  Dice dice(10);
  for (const DType dtype : prunable_dtypes()) {
    const Dense x = any_bits(dice, dtype, {61, 90});
    for (const char* spec :
         {"nmg:n=2,m=4,g=2", "nmg:n=1,m=10,g=4,axis=1", "nmg:n=2,m=5,g=3,fit=heuristic"}) {
      const Threads one(1);
      const Mask m = selected(x, spec);
      const Threads scope(3);
      CHECK(same_mask(selected(x, spec), m));
    }
  }
}

TEST_CASE("the greedy fit respects dims and axis") {
  Dice dice(5);
  const Dense x = normals(dice, {2, 8, 12});
  const Mask m = fitted(x, "nmg:n=1,m=4,g=3,dims=1.2");
  for (Index b = 0; b < 2; ++b) {
    Dense one = Dense::zeros(DType::F32, {8, 12});
    for (Index i = 0; i < 96; ++i) one.values.put(i, x.values, 96 * b + i);
    const Mask alone = fitted(one, "nmg:n=1,m=4,g=3");
    for (Index i = 0; i < 96; ++i) CHECK(m[96 * b + i] == alone[i]);
  }
  CHECK(same_mask(fitted(x, "nmg:n=1,m=4,g=3,dims=1.2,axis=1"),
                  fitted(x, "nmg:n=1,m=4,g=3,dims=2.1")));
}

TEST_CASE("the greedy fit ranks NaN highest and scores F64 in double precision") {
  const Dense x = Dense::of({2, 2}, {NAN, 5, 1, 6});
  CHECK(ones_of(fitted(x, "nmg:n=1,m=2,g=1")) == Ints{1, 0, 0, 1});
  Dice dice(6);
  for (int round = 0; round < 20; ++round) {  // one NaN per strip, each row twice
    Dense y = normals(dice, {4, 8});
    Mask nans = Mask::none({4, 8});
    std::vector<Index> rows{0, 0, 1, 1, 2, 2, 3, 3};
    for (Index c = 0; c < 8; ++c) {
      std::swap(rows[c], rows[c + dice.below(8 - c)]);
      nans.set(8 * rows[c] + c, true);
      y.values.mutate<float>()[8 * rows[c] + c] = NAN;
    }
    CHECK(same_mask(fitted(y, "nmg:n=1,m=4,g=2"), nans));
  }
  Dense d = Dense::zeros(DType::F64, {2, 2});
  const auto v = d.values.mutate<double>();
  v[0] = v[3] = 1 + 1e-12;
  v[1] = v[2] = 1;
  CHECK(ones_of(fitted(d, "nmg:n=1,m=2,g=1")) == Ints{1, 0, 0, 1});
  v[0] = v[3] = 1;
  v[1] = v[2] = 1 + 1e-12;
  CHECK(ones_of(fitted(d, "nmg:n=1,m=2,g=1")) == Ints{0, 1, 1, 0});
}

TEST_CASE("invalid specs of n:m:g fits are rejected") {
  for (const char* wrong :
       {"nmg", "nmg:n=1,m=10", "nmg:n=3,m=2,g=1", "nmg:n=1,m=2,g=0", "nmg:n=1,m=2,g=1,fit=best",
        "nmg:n=20,m=40,g=1", "nmg:n=1,m=2,g=1,k=1", "nmg:n=1,m=1025,g=1,fit=exact"})
    CHECK(fault_of([&] { registry().sparsifier(Spec::parse(wrong)); }) == Fault::usage);
  for (const char* right :
       {"nmg:n=1,m=2,g=1,fit=greedy", "nmg:n=1,m=2,g=1,fit=heuristic",
        "nmg:n=1,m=1025,g=1,fit=swaps", "nmg:n=1,m=1024,g=1,fit=exact", "nmg:n=1,m=1025,g=1"})
    CHECK(error_of([&] { registry().sparsifier(Spec::parse(right)); }) == "");
  const Dense line = Dense::of({3}, {1, 2, 3});
  CHECK(has(error_of([&] { fitted(line, "nmg:n=1,m=2,g=1"); }), "rank 1"));
}
