// SPDX-License-Identifier: Apache-2.0
// Reductions and prefix sums over the segments of an array, with which kernels write in the
// elements' order.
#pragma once
#include "kernels/block/elementwise/groups.h"

namespace sten::kernels {

// Exclusive scan: before(t) is the sum of v over all threads before t, or over the first `used` if
// it is not 0; the others then get 0. Returns the total. scratch [2 * threads()].
template <class T, class Block, class V>
STEN_DEVICE T scan(Block& b, typename Block::template Shared<T> scratch,
                   typename Block::template PerThread<T>& before, V&& v, int used = 0) {
  const int all = used > 0 ? used : b.threads();
  b.for_each_thread([&](int t) {
    if (used == 0 || t < used) scratch[t] = v(t);
  });
  int from = 0;  // the half with the current sums
  for (int step = 1; step < all; step *= 2) {
    b.for_each_thread([&](int t) {
      if (used > 0 && t >= used) return;
      const T sum = scratch[from + t], other = t < step ? T{0} : T{scratch[from + t - step]};
      scratch[all - from + t] = sum + other;
    });
    from = all - from;
  }
  b.for_each_thread([&](int t) {
    const bool has_none = t == 0 || (used > 0 && t >= used);
    before(t) = has_none ? T{0} : T{scratch[from + t - 1]};
  });
  return b.read(scratch, from + all - 1);
}

// Exclusive scan over groups, where each thread has a run of them: offsets[g] is the sum of f over
// the groups before g. groups is a multiple of threads(); scratch [2 * threads()]. Returns the
// total.
template <class Block, class F>
STEN_DEVICE std::int32_t compact_groups(Block& b, int groups,
                                        typename Block::template Shared<std::int32_t> scratch,
                                        typename Block::template Shared<std::int32_t> offsets,
                                        F&& f) {
  const int each = groups / b.threads();
  auto before = b.template per_thread<std::int32_t>();
  const std::int32_t all = scan<std::int32_t>(b, scratch, before, [&](int t) {
    std::int32_t sum = 0;
    for (int i = 0; i < each; ++i) sum += f(t * each + i);
    return sum;
  });
  b.for_each_thread([&](int t) {
    std::int32_t sum = before(t);
    for (int i = 0; i < each; ++i) {
      offsets[t * each + i] = sum;
      sum += f(t * each + i);
    }
  });
  return all;
}

// of[p] reduces f(group), an int64_t, over the groups of segment p by F::combine, starting from
// F::none().
template <class F>
struct ReduceSegments {
  static constexpr int threads = segment_threads;
  F f;
  std::int64_t n;
  std::int64_t* of;

  std::int64_t blocks() const { return segments_of(n, F::groups); }
  std::size_t shared_bytes() const { return threads * sizeof(std::int64_t); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t piece) const {
    const std::int64_t first = piece * F::groups, left = groups_of(n) - first;
    const std::int64_t all = reduce<std::int64_t>(
        b, b.template shared<std::int64_t>(threads),
        [&](int t) {
          std::int64_t v = f.none();
          each_of(b, t, left < F::groups ? left : F::groups,
                  [&](std::int64_t g) { v = F::combine(v, f(first + g)); });
          return v;
        },
        [](std::int64_t x, std::int64_t y) { return F::combine(x, y); });
    b.for_each_thread([&](int t) {
      if (t == 0) of[piece] = all;
    });
  }
};

// *all reduces the results of the segments.
template <class F>
struct ReduceAll {
  static constexpr int threads = 1024;
  F f;
  std::int64_t pieces;
  const std::int64_t* of;
  std::int64_t* all;

  std::int64_t blocks() const { return 1; }
  std::size_t shared_bytes() const { return threads * sizeof(std::int64_t); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t) const {
    const std::int64_t result = reduce<std::int64_t>(
        b, b.template shared<std::int64_t>(threads),
        [&](int t) {
          std::int64_t v = f.none();
          each_of(b, t, pieces, [&](std::int64_t p) { v = F::combine(v, of[p]); });
          return v;
        },
        [](std::int64_t x, std::int64_t y) { return F::combine(x, y); },
        threads_for(pieces, threads));
    b.for_each_thread([&](int t) {
      if (t == 0) *all = result;
    });
  }
};

// Exclusive scan in place: counts[p] becomes the sum of the counts before p, for p <= number of
// segments.
struct ScanSegments {
  static constexpr int threads = 1024;
  std::int64_t pieces;
  std::int64_t* counts;

  std::int64_t blocks() const { return 1; }
  std::size_t shared_bytes() const { return 2 * threads * sizeof(std::int64_t); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t) const {
    const std::int64_t each = (pieces + threads - 1) / threads;
    const auto each_own = [&](int t, auto&& f) {
      for (std::int64_t p = t * each; p < (t + 1) * each && p < pieces; ++p) f(p);
    };
    auto before = b.template per_thread<std::int64_t>();
    const std::int64_t all = scan<std::int64_t>(
        b, b.template shared<std::int64_t>(2 * threads), before,
        [&](int t) {
          std::int64_t sum = 0;
          each_own(t, [&](std::int64_t p) { sum += counts[p]; });
          return sum;
        },
        threads_for(pieces, threads));
    b.for_each_thread([&](int t) {
      std::int64_t sum = before(t);
      each_own(t, [&](std::int64_t p) {
        const std::int64_t count = counts[p];
        counts[p] = sum;
        sum += count;
      });
      if (t == 0) counts[pieces] = all;
    });
  }
};

// Reduces f over n elements and waits for the result.
template <class Grid, class F>
std::int64_t reduce_all(Grid& grid, const F& f, std::int64_t n) {
  const std::int64_t pieces = segments_of(n, F::groups);
  auto* of = grid.template scratch<std::int64_t>(pieces + 1);
  grid.launch(ReduceSegments<F>{f, n, of});
  grid.launch(ReduceAll<F>{f, pieces, of, of + pieces});
  return grid.fetch(of + pieces);
}

// Sums of f over all elements before each segment, [segments + 1].
template <class Grid, class F>
const std::int64_t* sums_before(Grid& grid, const F& f, std::int64_t n) {
  const std::int64_t pieces = segments_of(n, F::groups);
  auto* counts = grid.template scratch<std::int64_t>(pieces + 1);
  grid.launch(ReduceSegments<F>{f, n, counts});
  grid.launch(ScanSegments{pieces, counts});
  return counts;
}

}  // namespace sten::kernels
