// The exact fit of a matrix's chunks, a block of threads each: from values to patterns.
#pragma once
#include <cmath>

#include "kernels/block/nmg_exact.h"

namespace sten::kernels {

// NaN as infinity.
template <class E>
STEN_DEVICE double nmg_magnitude(E x) {
  return std::isnan(x) ? static_cast<double>(INFINITY) : std::abs(double{x});
}

// to[strips]: the pattern of each strip of the chunk, as NmgFitTable gives them. Between phases.
template <class E, class Block>
STEN_DEVICE void nmg_exact_chunk(Block& b, const NmgFormat& f, const NmgStrips<E>& in,
                                 std::uint16_t* to) {
  const std::int64_t values = in.rows * in.cols;
  const auto at = [&](std::int64_t i) {
    return nmg_magnitude(in.x[i / in.cols * in.row_stride + i % in.cols]);
  };
  auto scratch = b.template shared<double>(b.threads());
  const auto greatest = [](double x, double y) { return x < y ? y : x; };
  const auto of_all = [&](double first, auto&& pick, auto&& combine) {
    return reduce<double>(
        b, scratch,
        [&](int t) {
          double v = first;
          each_of(b, t, values, [&](std::int64_t i) { v = combine(v, pick(at(i))); });
          return v;
        },
        combine);
  };
  const auto solve = [&](auto unit, auto&& count) {
    NmgExactBlock<decltype(unit), Block> solver(b, f, in.rows, in.cols);
    auto x = solver.magnitudes();
    b.for_each_thread(
        [&](int t) { each_of(b, t, values, [&](std::int64_t i) { x[i] = count(at(i)); }); });
    const auto pattern_of = solver.run();
    b.for_each_thread(
        [&](int t) { each_of(b, t, f.strips(), [&](std::int64_t s) { to[s] = pattern_of[s]; }); });
  };

  const double most = of_all(
      0.0, [](double v) { return v; }, greatest);
  if constexpr (sizeof(E) == 4) {
    const double least = -of_all(
        -static_cast<double>(INFINITY),
        [](double v) { return v > 0 ? -v : -static_cast<double>(INFINITY); }, greatest);
    const NmgRange range = NmgRange::of(static_cast<float>(most), static_cast<float>(least), f.n);
    if (!range.is_wide) {
      solve(std::int32_t{}, [&](double v) {
        return static_cast<std::int32_t>(std::lrint(v * double{range.scale}));
      });
      return;
    }
  }
  const bool infinite = std::isinf(most);
  const double finite = infinite
                            ? of_all(
                                  0.0, [](double v) { return std::isinf(v) ? 0.0 : v; }, greatest)
                            : most;
  const NmgWideScale scale(finite, infinite, f.n, f.count);
  solve(std::int64_t{}, [&](double v) { return scale(v); });
}

// Bytes of shared memory that this takes of a block.
inline std::size_t nmg_exact_shared(const NmgFormat& f, int threads) {
  CountingBlock count;
  count.shared<double>(threads);
  const NmgExactBlock<std::int64_t, CountingBlock> wide(count, f, f.m, f.strips());
  return count.used();
}

}  // namespace sten::kernels
