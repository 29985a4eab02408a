// SPDX-License-Identifier: Apache-2.0
// Pooling: maximum or mean of each window, per channel.
#include <limits>
#include <type_traits>

#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/images/pool_call.h"

namespace sten {
namespace {

// A window outside of x has -infinity. NaN wins; of two, the last one.
template <class T>
void pool_largest(const T* image, const std::vector<Index>& taps, Index channels, T* to) {
  std::fill(to, to + channels, -std::numeric_limits<T>::infinity());
  for (const Index tap : taps) {
    const T* x = image + tap;
    for (Index c = 0; c < channels; ++c) to[c] = x[c] > to[c] || x[c] != x[c] ? x[c] : to[c];
  }
}

// The tap of each channel's maximum, the first of equals, as an integer of T's width, so that both
// vectorize together.
template <class T>
struct LargestTaps {
  using Number = std::conditional_t<std::same_as<T, float>, std::int32_t, std::int64_t>;
  std::vector<T> best;
  std::vector<Number> at;

  explicit LargestTaps(Index channels) : best(channels), at(channels) {}
  void find(const T* image, const std::vector<Index>& taps) {
    std::ranges::fill(best, -std::numeric_limits<T>::infinity());
    std::ranges::fill(at, Number{0});
    T* b = best.data();
    Number* a = at.data();
    for (std::size_t t = 0; t < taps.size(); ++t) {
      const T* x = image + taps[t];
      for (Index c = 0; c < std::ssize(best); ++c) {
        const bool wins = x[c] > b[c] || x[c] != x[c];
        b[c] = wins ? x[c] : b[c];
        a[c] = wins ? static_cast<Number>(t) : a[c];
      }
    }
  }
};

// In double, since a global mean has many summands.
template <class T>
void pool_mean(const T* image, const std::vector<Index>& taps, Index counted,
               std::vector<double>& sums, T* to) {
  std::ranges::fill(sums, 0.0);
  double* s = sums.data();
  const Index channels = std::ssize(sums);
  for (const Index tap : taps)
    for (Index c = 0; c < channels; ++c) s[c] += image[tap + c];
  const auto by = static_cast<double>(counted);
  for (Index c = 0; c < channels; ++c) to[c] = taps.empty() ? T{0} : static_cast<T>(s[c] / by);
}

template <bool is_adaptive, bool is_max>
Outputs run_pool(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  const PoolCall<is_adaptive, is_max> g(call);
  const Windows& w = g.w;
  return with_real(g.op, x.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = x.values.as<T>().data();
    return {
        write_positions<T>(call.out(), w, [&](const std::array<Index, 3>& o, Index image, T* to) {
          thread_local std::vector<Index> taps;
          thread_local std::vector<double> sums;
          const Index counted = w.taps(o, g.counts_pads, taps);
          if (is_max) return pool_largest(in + image, taps, w.channels, to);
          sums.resize(static_cast<std::size_t>(w.channels));
          pool_mean(in + image, taps, counted, sums, to);
        })};
  });
}

template <bool is_adaptive>
Outputs max_pool_grad(const Call& call) {
  if (!call.wants(0)) return {std::nullopt};
  const Dense &dy = call.in[0].as<Dense>(), &x = call.in[1].as<Dense>();
  const PoolCall<is_adaptive, true> g(call, true);
  const Windows& w = g.w;
  return with_real(g.op, dy.dtype(), [&]<class T>(T) -> Outputs {
    const T *in = x.values.as<T>().data(), *from = dy.values.as<T>().data();
    return {gather_positions<T>(
        call.out(), x.extents, w, [&](Index o) { return w.reach(o); },
        [&](const std::array<Index, 3>& o, Index image, Index row, Index begin, Index end, T* to) {
          thread_local std::vector<Index> taps;
          thread_local LargestTaps<T> largest(0);
          if (std::ssize(largest.at) != w.channels) largest = LargestTaps<T>(w.channels);
          w.taps(o, false, taps);
          if (taps.empty()) return;
          largest.find(in + image, taps);
          for (Index c = 0; c < w.channels; ++c) {
            const Index tap = taps[largest.at[c]];
            if (tap >= begin && tap < end) to[tap + c] += from[row + c];
          }
        })};
  });
}

// Indices of the maxima in x with channels first, [N, C, spatial...], counted in row-major order,
// or with column-major=1 along the first spatial axis.
Tensor max_pool_indices(const Call& call) {
  constexpr const char* op = "max-pool-indices";
  const Dense& x = call.in[0].as<Dense>();
  const Windows w = Windows::sliding(op, x.extents, call.attributes, {"column-major"});
  const bool by_columns = call.attributes.integer("column-major", 0) != 0;
  const Index pixels = w.image() / w.channels;
  const auto number = [&](Index pixel) {
    if (!by_columns) return pixel;
    Index at = 0, step = 1, rest = pixels;
    for (const Index n : w.size) {
      rest /= n;
      at += pixel / rest * step;
      pixel %= rest;
      step *= n;
    }
    return at;
  };
  Dense y{w.shape(), Values::uninitialized(DType::I64, size_of(w.shape()))};
  std::int64_t* to = y.values.mutate<std::int64_t>().data();
  with_real(op, x.dtype(), [&]<class T>(T) {
    const T* in = x.values.as<T>().data();
    std::vector<Index> taps;
    LargestTaps<T> largest(w.channels);
    for (Index p = 0; p < w.batch * w.output_positions(); ++p) {
      const Index image = p / w.output_positions();
      w.taps(w.place(p % w.output_positions()), false, taps);
      if (!taps.empty()) largest.find(in + image * w.image(), taps);
      for (Index c = 0; c < w.channels; ++c) {
        const Index pixel = taps.empty() ? 0 : taps[largest.at[c]] / w.channels;
        *to++ = (image * w.channels + c) * pixels + number(pixel);
      }
    }
    return Outputs();
  });
  return y;
}

template <bool is_adaptive>
Outputs average_pool_grad(const Call& call) {
  if (!call.wants(0)) return {std::nullopt};
  const Dense& dy = call.in[0].as<Dense>();
  const PoolCall<is_adaptive, false> g(call, true);
  const Windows& w = g.w;
  return with_real(g.op, dy.dtype(), [&]<class T>(T) -> Outputs {
    const T* from = dy.values.as<T>().data();
    return {gather_positions<T>(
        call.out(), g.x, w, [&](Index o) { return w.reach(o); },
        [&](const std::array<Index, 3>& o, Index, Index row, Index begin, Index end, T* to) {
          thread_local std::vector<Index> taps;
          const auto by = static_cast<T>(w.taps(o, g.counts_pads, taps));
          for (const Index tap : taps) {
            if (tap < begin || tap >= end) continue;
            for (Index c = 0; c < w.channels; ++c) to[tap + c] += from[row + c] / by;
          }
        })};
  });
}

template <bool is_adaptive>
void add_pools_of(Operators& all) {
  const Name largest(pool_name<is_adaptive, true>), mean(pool_name<is_adaptive, false>);
  const auto grad = [](Name op) { return Name(std::string(op.text()) + ".grad"); };
  all.declare(largest, {SavedForBackward::inputs});
  add_streamed(all, largest, {"dense"}, 1, run_pool<is_adaptive, true>);
  add_streamed(all, grad(largest), {"dense", "dense"}, 1, max_pool_grad<is_adaptive>);
  all.declare(mean, {SavedForBackward::nothing});
  add_streamed(all, mean, {"dense"}, 1, run_pool<is_adaptive, false>);
  add_streamed(all, grad(mean), {"dense"}, 1, average_pool_grad<is_adaptive>);
}

}  // namespace

void add_pools(Operators& all) {
  add_pools_of<false>(all);
  add_pools_of<true>(all);
  add_plain(all, "max-pool-indices", SavedForBackward::nothing, max_pool_indices);
}

}  // namespace sten
