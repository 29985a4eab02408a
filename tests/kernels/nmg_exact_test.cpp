// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "kernels/nmg_exact.h"
#include "kernels/reference/nmg_greedy.h"
#include "tests/kernels/chunk.h"
#include "tests/kernels/fenced.h"
#include "tests/support/nmg_judge.h"

using namespace sten;
using namespace sten::testing;
using kernels::NmgFormat;
using kernels::NmgStrips;

namespace {

// f(table) for every ISA of this machine, the reference first.
template <class F>
void each_fit(F&& f) {
  for (const kernels::Isa isa : kernels::all_isas) {
    const kernels::NmgExactTable* table = kernels::nmg_exact_for(isa);
    if (table == nullptr) continue;
    const std::string name = kernels::name_of(isa);
    CAPTURE(name);
    f(*table);
  }
}

// Fits values at the end of a page, with exactly the requested scratch.
template <class T>
Patterns fitted(const kernels::NmgExactTable& table, const Chunk<T>& chunk) {
  const NmgFormat format = chunk.format();
  Fenced<std::byte> scratch((table.scratch(format, chunk.rows, chunk.cols) + 63) / 64 * 64);
  Fenced<T> x(chunk.x);
  Fenced<std::uint16_t> of(chunk.strips());
  const NmgStrips<T> in{x.data(), chunk.cols, chunk.rows, chunk.cols};
  if constexpr (sizeof(T) == 4)
    table.fit_f32(format, in, scratch.data(), of.data());
  else
    table.fit_f64(format, in, scratch.data(), of.data());
  return of.values();
}

template <class T>
bool uses_each_pattern_g_times(const Chunk<T>& chunk, const Patterns& of) {
  std::vector<Index> count(chunk.table->count());
  for (const std::uint16_t p : of)
    if (p >= std::ssize(count) || ++count[p] > chunk.g) return false;
  return true;
}

// Whether no exchange in a cycle keeps more, which proves the optimum. In double; `noise` is the
// gain that rounding explains.
template <class T>
bool no_ring_gains(const Chunk<T>& chunk, const Patterns& of, double noise) {
  return !ring_gains(of, chunk.table->count(), noise,
                     [&](Index s, Index p) { return chunk.score(s, p); });
}

// The most that any assignment keeps, by trying all of them.
template <class T>
double best_kept(const Chunk<T>& chunk, std::vector<Index>& room, Index s = 0) {
  if (s == chunk.strips()) return 0;
  double best = -1;
  for (Index p = 0; p < chunk.table->count(); ++p) {
    if (room[p] == 0) continue;
    --room[p];
    best = std::max(best, chunk.score(s, p) + best_kept(chunk, room, s + 1));
    ++room[p];
  }
  return best;
}

}  // namespace

TEST_CASE("the exact fit of the worked example keeps 47 of 62") {
  Chunk<float> chunk(2, 4, 1);
  chunk.x = {1, -2, 3, 0, 5, -6, 4, 1, -1, 2, 0, 2, -3, 5, 2, 7, -1, 1, 2, 0, 6, -1, 4, 3};
  each_fit([&](const kernels::NmgExactTable& table) {
    const Patterns of = fitted(table, chunk);
    CHECK(uses_each_pattern_g_times(chunk, of));
    CHECK(chunk.kept(of) == 47);
  });
}

TEST_CASE("the optimality check rejects a greedy fit") {
  Dice dice(3);
  Chunk<float> chunk(2, 4, 4);
  fill(dice, chunk, ChunkValues::normal);
  const Index strips = chunk.strips();
  std::vector<float> x(chunk.x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::abs(chunk.x[i]);
  const kernels::NmgChunk<float> c{x.data(), chunk.table->data(), 2, 4, 6, 4};
  std::vector<kernels::NmgCandidate<float>> pairs(6 * strips);
  std::vector<std::int32_t> fill(6), of(strips);
  kernels::nmg_fit_greedy(c, pairs.data(), fill.data(), of.data());
  CHECK(!no_ring_gains(chunk, Patterns(of.begin(), of.end()), chunk.greatest() * 0x1p-22));
}

TEST_CASE("no cyclic exchange improves the exact fit, which is the same under every ISA") {
  Dice dice(1);
  const Index rounds = chunks_to_try(500);
  for (Index round = 0; round < rounds; ++round) {
    const Format& f = formats()[round % std::ssize(formats())];
    const auto kind = static_cast<ChunkValues>(dice.below(static_cast<Index>(ChunkValues::kinds)));
    Chunk<float> chunk(f.n, f.m, f.g);
    if (dice.below(3) == 0) {  // padding
      chunk.rows = 1 + dice.below(f.m);
      chunk.cols = 1 + dice.below(chunk.strips());
      chunk.x.resize(chunk.rows * chunk.cols);
    }
    fill(dice, chunk, kind);
    const std::string where = fmt::format("round {}: {}:{}:{} {} x {}, kind {}", round, f.n, f.m,
                                          f.g, chunk.rows, chunk.cols, static_cast<int>(kind));
    std::optional<Patterns> reference;
    each_fit([&](const kernels::NmgExactTable& table) {
      const Patterns of = fitted(table, chunk);
      if (!reference) {
        reference = of;
        if (!uses_each_pattern_g_times(chunk, of)) FAIL_CHECK(where << ": not g of each");
        // Magnitudes that are far apart are rounded to 64-bit integers, others to 32-bit ones.
        const double noise =
            kind == ChunkValues::wide && chunk.spread() > 0x1p25 ? 0x1p-45 : 0x1p-22;
        if (!no_ring_gains(chunk, of, chunk.greatest() * noise)) FAIL_CHECK(where);
      }
      if (of != *reference) FAIL_CHECK(where << ": another fit");
    });
  }
}

TEST_CASE("the exact fit keeps as much as the best assignment by brute force") {
  Dice dice(2);
  for (int round = 0; round < 300; ++round) {
    const Format f = dice.one_of<Format>({{1, 2, 1},
                                          {1, 2, 3},
                                          {1, 3, 2},
                                          {2, 3, 2},
                                          {1, 4, 1},
                                          {1, 4, 2},
                                          {2, 4, 1},
                                          {1, 6, 1},
                                          {3, 4, 1}});
    Chunk<double> chunk(f.n, f.m, f.g);
    if (dice.below(3) == 0) {
      chunk.cols = 1 + dice.below(chunk.strips());
      chunk.x.resize(chunk.rows * chunk.cols);
    }
    fill(dice, chunk, static_cast<ChunkValues>(dice.below(static_cast<Index>(ChunkValues::kinds))));
    for (double& v : chunk.x) v = static_cast<float>(v);
    Chunk<float> narrow(f.n, f.m, f.g);
    narrow.cols = chunk.cols;
    narrow.x.assign(chunk.x.begin(), chunk.x.end());
    std::vector<Index> room(chunk.table->count(), f.g);
    const double best = best_kept(chunk, room);
    each_fit([&](const kernels::NmgExactTable& table) {
      CHECK(chunk.kept(fitted(table, chunk)) == doctest::Approx(best).epsilon(1e-14));
      CHECK(chunk.kept(fitted(table, narrow)) == doctest::Approx(best).epsilon(1e-8));
    });
  }
}
