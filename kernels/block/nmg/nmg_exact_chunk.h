// SPDX-License-Identifier: Apache-2.0
// The exact fit of one chunk by a block of threads: integer magnitudes and matching.
#pragma once
#include <cmath>

#include "kernels/block/nmg/nmg_chunk.h"
#include "kernels/block/nmg/nmg_exact.h"

namespace sten::kernels {

// Calls solve(T{}, count), where count(r, s) is the magnitude of an element as integer T, with the
// scales of the CPU fits. T is int32_t if it loses nothing, else int64_t. Between phases; scratch
// [threads].
template <class Block, class Solve>
STEN_DEVICE void nmg_with_counts(Block& b, const NmgFormat& f, const NmgBlockChunk& in,
                                 typename Block::template Shared<double> scratch, Solve&& solve) {
  const auto greatest = [](double x, double y) { return x < y ? y : x; };
  const auto of_all = [&](double first, auto&& pick) {
    return reduce<double>(
        b, scratch,
        [&](int t) {
          double v = first;
          in.each(b, t, [&](std::int64_t r, std::int64_t s) {
            v = greatest(v, pick(in.magnitude(r, s)));
          });
          return v;
        },
        greatest);
  };
  constexpr double infinity = INFINITY;
  const double most = of_all(0.0, [](double v) { return v; });
  if (in.kind != FloatKind::f64) {
    const double least = -of_all(-infinity, [](double v) { return v > 0 ? -v : -infinity; });
    const NmgRange range = NmgRange::of(static_cast<float>(most), static_cast<float>(least), f.n);
    if (!range.is_wide) {
      solve(std::int32_t{}, [&](std::int64_t r, std::int64_t s) {
        return nearest_int(in.magnitude_f32(r, s) * range.scale);
      });
      return;
    }
  }
  const bool infinite = std::isinf(most);
  const double finite =
      infinite ? of_all(0.0, [](double v) { return std::isinf(v) ? 0.0 : v; }) : most;
  const NmgWideScale scale(finite, infinite, f.n, f.count);
  solve(std::int64_t{}, [&](std::int64_t r, std::int64_t s) { return scale(in.magnitude(r, s)); });
}

// Computes the pattern of each strip of the chunk, [strips], as NmgExactTable does. Between phases.
template <class Block>
class NmgExactChunk {
  template <class U>
  using Shared = typename Block::template Shared<U>;

 public:
  STEN_HOST_DEVICE NmgExactChunk(Block& b, const NmgFormat& f)
      : b_(b), f_(f), pattern_of_(b.template shared<std::uint16_t>(f.strips())) {
    scratch_ = b.template shared<double>(b.threads());
  }
  STEN_DEVICE Shared<std::uint16_t> fit(const NmgBlockChunk& in) {
    nmg_with_counts(b_, f_, in, scratch_, [&]<class T, class Count>(T, const Count& count) {
      NmgExactBlock<T, Block> solver(b_, f_, in.rows, in.cols, pattern_of_);
      auto x = solver.magnitudes();
      b_.for_each_thread([&](int t) {
        in.each(b_, t, [&](std::int64_t r, std::int64_t s) { x[r * in.cols + s] = count(r, s); });
      });
      solver.run();
    });
    return pattern_of_;
  }

 private:
  Block& b_;
  const NmgFormat& f_;
  Shared<std::uint16_t> pattern_of_;
  Shared<double> scratch_;
};

// Counts the shared memory of NmgExactChunk.
inline void nmg_exact_shared(CountingBlock& count, const NmgFormat& f) {
  const NmgExactChunk<CountingBlock> chunk(count, f);
  const NmgExactBlock<std::int64_t, CountingBlock> wide(count, f, f.m, f.strips(), nullptr);
}

}  // namespace sten::kernels
