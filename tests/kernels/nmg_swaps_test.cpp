// SPDX-License-Identifier: Apache-2.0
// The fit by swaps by a block of threads, compared with the paper's rule for GPUs.
#include <doctest/doctest.h>

#include "kernels/block/checked_block.h"
#include "kernels/block/nmg/nmg_swaps.h"
#include "tests/kernels/chunk.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Section 5.2: strips start with any patterns, here in order, and pairs exchange patterns while
// that keeps more.
template <class T>
Patterns paper(const Chunk<T>& chunk) {
  const Index strips = chunk.strips(), c = chunk.table->count();
  Patterns of(strips);
  std::vector<double> score(strips * c);
  for (Index s = 0; s < strips; ++s) {
    of[s] = static_cast<std::uint16_t>(s / chunk.g);
    for (Index p = 0; p < c; ++p) score[s * c + p] = chunk.score(s, p);
  }
  for (bool any = true; any;) {
    any = false;
    for (Index s = 0; s < strips; ++s)
      for (Index t = 0; t < strips; ++t) {
        const Index p = of[s], q = of[t];
        const double before = score[s * c + p] + score[t * c + q];
        if (score[s * c + q] + score[t * c + p] <= before * (1 + 1e-12)) continue;
        std::swap(of[s], of[t]);
        any = true;
      }
  }
  return of;
}

// The greatest gain of two strips that exchange patterns.
template <class T>
double best_swap(const Chunk<T>& chunk, const Patterns& of) {
  double most = 0;
  for (Index s = 0; s < chunk.strips(); ++s)
    for (Index t = 0; t < s; ++t)
      most = std::max(most, chunk.score(s, of[t]) + chunk.score(t, of[s]) - chunk.score(s, of[s]) -
                                chunk.score(t, of[t]));
  return most;
}

template <class T>
kernels::NmgBlockChunk values_of(const Chunk<T>& chunk) {
  const kernels::FloatKind kind =
      sizeof(T) == 4 ? kernels::FloatKind::f32 : kernels::FloatKind::f64;
  return {chunk.x.data(), kind, 0, chunk.cols, 1, chunk.rows, chunk.cols};
}

template <class T, template <class> class Fit, class... Args>
Patterns fitted(const Chunk<T>& chunk, Args... args) {
  std::vector<std::byte> memory(1 << 20);
  kernels::SerialBlock block(7, memory.data(), memory.size());
  const NmgFormat f = chunk.format();
  Fit<kernels::SerialBlock> fit(block, f, args...);
  const std::uint16_t* found = fit.fit(values_of(chunk));
  return {found, found + chunk.strips()};
}

template <class T>
void check_swaps(std::uint64_t seed, Index rounds) {
  Dice dice(seed);
  for (Index round = 0; round < rounds; ++round) {
    const Format f = formats()[static_cast<std::size_t>(round) % formats().size()];
    if (f.n * f.m * f.g > 200) continue;  // the paper's rule takes quadratic time in the strips
    Chunk<T> chunk(f.n, f.m, f.g);
    if (dice.below(3) == 0) {
      chunk.rows = 1 + dice.below(f.m);
      chunk.cols = 1 + dice.below(chunk.strips());
      chunk.x.resize(chunk.rows * chunk.cols);
    }
    const auto kind = static_cast<ChunkValues>(dice.below(static_cast<Index>(ChunkValues::kinds)));
    fill(dice, chunk, kind);
    const std::string where = fmt::format("round {}: {}:{}:{} {} x {}, kind {}", round, f.n, f.m,
                                          f.g, chunk.rows, chunk.cols, static_cast<int>(kind));
    const Patterns exact = fitted<T, kernels::NmgExactChunk>(chunk);
    const Patterns swaps = fitted<T, kernels::NmgSwapsChunk>(chunk, true);
    const double least = chunk.kept(paper(chunk));
    // Magnitudes are rounded to integers.
    const double rounding = 1e-7 * chunk.greatest() * static_cast<double>(chunk.strips());
    if (chunk.kept(exact) < least - rounding) FAIL_CHECK(where << ": exact keeps less");
    if (chunk.kept(swaps) < least - rounding) FAIL_CHECK(where << ": swaps keeps less");
    if (chunk.kept(swaps) < chunk.kept(exact) - rounding) FAIL_CHECK(where << ": not the most");
    if (best_swap(chunk, swaps) > rounding) FAIL_CHECK(where << ": a swap is left");
    std::vector<Index> times(chunk.table->count());
    for (const std::uint16_t p : swaps) ++times.at(p);
    if (times != std::vector<Index>(times.size(), f.g)) FAIL_CHECK(where << ": no assignment");
    if (fitted<T, kernels::NmgSwapsChunk>(chunk, false) != swaps)
      FAIL_CHECK(where << ": another fit of values that are not stored");
  }
}

}  // namespace

TEST_CASE("block fits keep at least as much as the paper's swaps and leave no improving swap") {
  check_swaps<float>(1, 252);
  check_swaps<double>(2, 42);
}
