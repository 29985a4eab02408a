// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/layout/nmg_slots.h"
#include "libsten/core/registry/registry.h"
#include "libsten/programs/bench/against.h"
#include "libsten/programs/bench/bench_layout.h"
#include "libsten/programs/bench/input.h"
#include "libsten/programs/bench/paper_greedy.h"
#include "libsten/programs/bench/product.h"
#include "libsten/programs/bench/timing.h"
#include "tests/support/temp_dir.h"

using namespace sten;

TEST_CASE("median accepts unordered values and averages the middle two of an even count") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median({7}) == 7);
}

TEST_CASE("spread_of takes its bounds from order statistics and is robust to outliers") {
  std::vector<double> values;
  for (int i = 1; i <= 15; ++i) values.push_back(i);
  Spread s = spread_of(values);
  CHECK(s.median == 8);
  CHECK(s.low == 4);  // P(Binomial(15, 1/2) <= 3) = 1.8 %, P(<= 4) = 5.9 %
  CHECK(s.high == 12);
  values[0] = -1e9;
  values[14] = 1e9;
  s = spread_of(values);
  CHECK(s.low == 4);
  CHECK(s.high == 12);
  s = spread_of({5, 1, 3});
  CHECK(s.low == 1);
  CHECK(s.high == 5);
}

TEST_CASE("speedup is the median of the ratios within each repetition") {
  // The machine halves its speed in the second turn: medians of seconds would compare turns.
  const Spread s = speedup({2, 4, 6}, {1, 2, 3});
  CHECK(s.median == 2);
  CHECK(s.low == 2);
  CHECK(s.high == 2);
  // Ratios 2, 4 and 1, where the medians of seconds would give 4.
  CHECK(speedup({2, 8, 9}, {1, 2, 9}).median == 2);
}

TEST_CASE("time_interleaved runs the variants in turn, after one untimed warm-up call of each") {
  std::string calls;
  const auto seconds =
      time_interleaved({[&] { calls += 'a'; }, [&] { calls += 'b'; }}, TimingOptions{.repeats = 3});
  CHECK(calls == "abababab");
  CHECK(seconds.size() == 2);
  CHECK(seconds[1].size() == 3);
}

TEST_CASE("TimingOptions::before runs before each timed call, but not before warm-up calls") {
  std::string calls;
  time_interleaved({[&] { calls += 'a'; }, [&] { calls += 'b'; }},
                   TimingOptions{.repeats = 2, .before = [&] { calls += '.'; }});
  CHECK(calls == "ab.a.b.a.b");
}

TEST_CASE("the paper's greedy fit matches the library's greedy fit") {
  const std::tuple<const char*, Shape, bool> samples[] = {
      {"nmg:n=2,m=4,g=2", {8, 24}, true},        {"nmg:n=1,m=10,g=4", {20, 80}, true},
      {"nmg:n=1,m=4,g=3,axis=1", {24, 8}, true}, {"nmg:n=1,m=10,g=4", {23, 97}, false},
      {"nmg:n=3,m=6,g=1", {7, 19}, false},       {"nmg:n=1,m=4,g=100", {6, 5}, false}};
  for (const auto& sample : samples) {
    const auto [text, shape, whole] = sample;
    const std::string name = text;
    CAPTURE(name);
    const Dense x = bench_input("normal", shape, 3);
    const Spec layout = Spec::parse(text);
    Spec greedy = layout;
    greedy.set("fit", "greedy");
    const Tensor wanted = registry().pack(x, registry().sparsifier(greedy).select(x), layout);
    PaperGreedy paper(x, layout);
    paper.run();
    Nmg got = wanted.as<Nmg>();
    REQUIRE(got.values.size() == static_cast<Index>(paper.values().size()));
    REQUIRE(got.index.size() == static_cast<Index>(paper.index().size()));
    for (Index i = 0; i < got.index.size(); ++i) {
      // Strips of padding that keep nothing can be in any group with room.
      if (whole) CHECK(strip_at(got.index, i) == paper.index()[i]);
      if (got.index.width() == 1)
        got.index.mutate<std::uint8_t>()[i] = static_cast<std::uint8_t>(paper.index()[i]);
      else
        got.index.mutate<std::uint16_t>()[i] = paper.index()[i];
    }
    std::copy(paper.values().begin(), paper.values().end(), got.values.mutate<float>().begin());
    const Dense a = got.to_dense(), b = wanted.to_dense();
    CHECK(std::ranges::equal(a.values.as<float>(), b.values.as<float>()));
  }
}

TEST_CASE("bench_input has the mean and mean magnitude of its distribution") {
  for (const char* kind : bench_inputs) {
    CAPTURE(kind);
    const Dense x = bench_input(kind, {400, 500}, 1);
    double sum = 0, magnitudes = 0;
    for (const float v : x.values.as<float>()) {
      sum += v;
      magnitudes += std::abs(v);
    }
    const auto n = static_cast<double>(x.size());
    CHECK(std::abs(sum / n) < 0.03);
    // E|x|: sqrt(2/pi); 2 sqrt(3)/pi; 1; sqrt(2/pi) exp(1/8), of only 400 rows.
    const std::string_view name = kind;
    const double wanted = name == "normal"     ? 0.7979
                          : name == "student3" ? 1.1027
                          : name == "laplace"  ? 1
                                               : 0.9041;
    CHECK(magnitudes / n == doctest::Approx(wanted).epsilon(name == "rowscaled" ? 0.1 : 0.02));
  }
  CHECK_THROWS_WITH(bench_input("norml", {2, 2}, 0),
                    "--input: unknown distribution 'norml', did you mean 'normal'? (expected one "
                    "of normal, student3, laplace, rowscaled)");
}

TEST_CASE("BenchLayout prunes before the conversion for csr, and in the conversion for n:m:g") {
  const Dense x = bench_input("normal", {40, 40}, 0);
  const BenchLayout csr = BenchLayout::parse("csr:sparsity=0.75");
  CHECK(csr.name == "csr:sparsity=0.75");
  CHECK(csr.convert(csr.prepare(x)).stored().count() == 400);
  const BenchLayout bitmask = BenchLayout::parse("bitmask");
  CHECK(bitmask.name == "bitmask:sparsity=0.9");
  const BenchLayout nmg = BenchLayout::parse("nmg:n=1,m=4,g=2");
  CHECK(nmg.prepare(x).values.as<float>()[5] == x.values.as<float>()[5]);
  CHECK(nmg.convert(x).layout() == "nmg");
  CHECK_THROWS_AS(BenchLayout::parse("csr:sparsity=2"), Error);
  CHECK_THROWS_AS(BenchLayout::parse("csrr"), Error);
  CHECK_THROWS_AS(BenchLayout::parse("nmg:n=1,m=4"), Error);
}

TEST_CASE("BenchLayout keeps the zeros of values from a file unless a sparsity is given") {
  Dense x = bench_input("normal", {40, 40}, 0);
  const Dense zeros = BenchLayout::parse("csr:sparsity=0.6").prepare(x);
  const BenchLayout csr = BenchLayout::parse("csr", BenchZeros::file);
  CHECK(csr.name == "csr");
  CHECK(csr.pruning() == "csr:sparsity=0.9");
  CHECK(csr.zeros == BenchZeros::file);
  CHECK(csr.convert(csr.prepare(zeros)).stored().count() == 640);
  const BenchLayout nm = BenchLayout::parse("2:4", BenchZeros::file);
  CHECK(nm.name == "nm:n=2,m=4");
  CHECK_THROWS_AS(nm.convert(nm.prepare(x)), Error);
  for (const char* text : {"csr:sparsity=0.9", "nmg:n=1,m=4,g=2,sparsity=0.75"}) {
    const BenchLayout pruned = BenchLayout::parse(text, BenchZeros::file);
    CHECK(pruned.name == text);  // the name that --against looks up
    CHECK(pruned.zeros == BenchZeros::pruned);
    CHECK(pruned.convert(pruned.prepare(x)).stored().count() < 640);
  }
  CHECK(nm.pruning() == "nm:n=2,m=4,sparsity=0.5");
  CHECK_THROWS_AS(BenchLayout::parse("nm:n=2,m=4,sparsity=0.9"), Error);
}

TEST_CASE("BenchProduct packs both weights of a chain, and the single weight of gemm and linear") {
  for (const char* form : {"gemm", "linear", "chain"})
    for (const char* layout : {"nmg:n=1,m=4,g=2", "csr"}) {
      BenchProduct product(form, {8, 16, 4}, 0);
      const BenchProduct::Sparse sparse = product.sparse(BenchLayout::parse(layout));
      sparse.pack();
      CHECK(sparse.packed == (form == std::string_view("chain") ? 2 : 1));
    }
}

TEST_CASE("a rival library multiplies the weights of csr, and a wrong result is rejected") {
  int prepared = 0, multiplied = 0;
  float factor = 1;
  const SparseRival rival = {"other",
                             [&](const float* a, Index m, Index k, Index n, bool linear, int) {
                               CHECK(linear);
                               ++prepared;
                               const std::vector<float> kept(a, a + m * k);
                               return [&, kept, m, k, n](const float* in, float* out) {
                                 ++multiplied;
                                 for (Index t = 0; t < n; ++t)
                                   for (Index r = 0; r < m; ++r) {
                                     float sum = 0;
                                     for (Index p = 0; p < k; ++p)
                                       sum += kept[r * k + p] * in[t * k + p];
                                     out[t * m + r] = factor * sum;
                                   }
                               };
                             }};
  BenchProduct product("chain", {8, 16, 4}, 0);
  const BenchLayout csr = BenchLayout::parse("csr:sparsity=0.75");
  const auto sparse = product.sparse(csr, rival, 1);
  CHECK(sparse.flops == 2 * 32 * 4);
  CHECK(prepared == 2);
  multiplied = 0;
  sparse.run();
  CHECK(multiplied == BenchProduct::chain_length);
  sparse.pack();
  CHECK(prepared == 4);
  factor = 1.01f;
  CHECK_THROWS_AS(product.sparse(csr, rival, 1), Error);
}

TEST_CASE("parse_bench_shape accepts extents and layer names, and rejects malformed shapes") {
  CHECK(parse_bench_shape("768x3072", 2) == Shape{768, 3072});
  CHECK(parse_bench_shape("bert-ffn-out", 3) == Shape{768, 3072, 4096});
  CHECK(parse_bench_shape("bert-ffn-in", 2) == Shape{3072, 768});
  for (const char* wrong : {"768", "768x", "x768", "1x2x3", "-1x5", "0x5", "bert", "", "9x9 "})
    CHECK_THROWS_AS(parse_bench_shape(wrong, 2), Error);
}

namespace {

BenchRow row_of(double ratio, double low, double high) {
  BenchRow row;
  row.bench = "convert";
  row.input = "normal";
  row.shape = {8, 8};
  row.layout = "nmg:n=1,m=4,g=1";
  row.ratio = Spread{ratio, low, high};
  return row;
}

Baseline baseline_of(const TempDir& dir, const BenchRow& row) {
  Report r = bench_report({row});
  r.facts = {{"machine/cpu", std::string("cpu")}, {"machine/isa", std::string("isa")}};
  return Baseline::read(dir.write("base.json", to_json(r)), "cpu", "isa");
}

}  // namespace

TEST_CASE("a slowdown raises an alarm only beyond both the limit and the spread of the two runs") {
  const TempDir dir;
  const Baseline sharp = baseline_of(dir, row_of(10, 10, 10));
  CHECK(sharp.slowdown(row_of(8, 8, 8), 1.1)->times == doctest::Approx(1.25));
  CHECK_FALSE(sharp.slowdown(row_of(9.2, 9.2, 9.2), 1.1)->is_alarm());
  CHECK(sharp.slowdown(row_of(9, 9, 9), 1.1)->is_alarm());
  CHECK_FALSE(sharp.slowdown(row_of(9, 9, 9), 1.2)->is_alarm());
  CHECK_FALSE(sharp.slowdown(row_of(100, 100, 100), 1.1)->is_alarm());
  // Half of the spread of 9 from 6.3 to 9 is a factor of 1.195.
  CHECK_FALSE(sharp.slowdown(row_of(9, 6.3, 9), 1.1)->is_alarm());
  CHECK(sharp.slowdown(row_of(7, 4.9, 7), 1.1)->is_alarm());
  // The spread of the baseline counts in the same way; raising only its ratio does not widen it.
  const Baseline wide = baseline_of(dir, row_of(10, 8, 12));
  CHECK_FALSE(wide.slowdown(row_of(8.5, 8.5, 8.5), 1.1)->is_alarm());
  const Baseline raised = baseline_of(dir, row_of(15, 9.9, 10.1));
  CHECK(raised.slowdown(row_of(10, 9.9, 10.1), 1.1)->is_alarm());
}

TEST_CASE("a baseline compares only identical rows, and never a product of another library") {
  const TempDir dir;
  const Baseline baseline = baseline_of(dir, row_of(10, 10, 10));
  const BenchRow same = row_of(5, 5, 5);
  CHECK(baseline.slowdown(same, 1.1));
  const auto without = [&](auto&& change) {
    BenchRow row = same;
    change(row);
    return !baseline.slowdown(row, 1.1);
  };
  CHECK(without([](BenchRow& r) { r.shape = {8, 9}; }));
  CHECK(without([](BenchRow& r) { r.threads = 2; }));
  CHECK(without([](BenchRow& r) { r.layout = "nmg:n=1,m=4,g=2"; }));
  CHECK(without([](BenchRow& r) { r.input = "laplace"; }));
  CHECK(without([](BenchRow& r) { r.form = "gemm"; }));
  CHECK(without([](BenchRow& r) { r.precision = "bf16"; }));
  CHECK(without([](BenchRow& r) { r.ratio.reset(); }));
  CHECK(without([](BenchRow& r) { r.library = "libxsmm 1.17"; }));
  BenchRow theirs = same;
  theirs.library = "libxsmm 1.17";
  CHECK_FALSE(baseline_of(dir, theirs).slowdown(same, 1.1));
}

TEST_CASE("a row that looks too slow is measured again before it raises an alarm") {
  const TempDir dir;
  const Baseline baseline = baseline_of(dir, row_of(10, 10, 10));
  const auto compare = [&](double first, double again, int& measured) {
    std::vector<BenchRow> rows = {row_of(first, first, first)};
    measured = 0;
    const auto s = baseline.compare(rows, 1.1, [&](const BenchRow&) {
      ++measured;
      return std::optional(row_of(again, again, again));
    });
    return s[0]->is_alarm();
  };
  int measured = 0;
  CHECK_FALSE(compare(9.5, 5, measured));
  CHECK(measured == 0);
  CHECK_FALSE(compare(6, 9.5, measured));
  CHECK(measured == 1);
  CHECK(compare(6, 7, measured));
  CHECK(measured == 2);
}
