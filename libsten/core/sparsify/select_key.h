// SPDX-License-Identifier: Apache-2.0
// The element of a given rank by magnitude, by radix selection: a histogram of the keys' top 16
// bits, then of the next 16 bits within the selected bin, and so on.
#pragma once
#include <algorithm>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/elementwise.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/mask.h"

namespace sten {

template <class U>
struct KeyRank {
  U key = 0;         // of the element (kernels/elementwise.h)
  Index below = 0;   // elements with a smaller key
  Index equals = 0;  // elements with this key
};

// Below this number of elements, sorting keys is faster than a histogram.
inline constexpr Index max_sorted_keys = Index{1} << 14;

// The result of select_key() for up to max_sorted_keys elements.
template <class U>
KeyRank<U> select_by_sorting(std::span<const U> x, Index rank) {
  std::vector<U> keys(x.begin(), x.end());
  for (U& key : keys) key = kernels::magnitude_key(key);
  std::nth_element(keys.begin(), keys.begin() + rank, keys.end());
  KeyRank<U> place{keys[rank], 0, 0};
  for (const U key : keys) {
    place.below += key < place.key;
    place.equals += key == place.key;
  }
  return place;
}

// Passes arrays to its argument, one after another; each call passes all of them.
template <class U>
using KeySource = std::function<void(const std::function<void(std::span<const U>)>&)>;

// The key of rank `rank`, 0 <= rank < number of elements. Reads the source once per 16 bits of U.
// Scratch: a histogram per thread (1 MB and 0.5 MB in all); none for short arrays.
template <class U>
KeyRank<U> select_key(const KeySource<U>& source, Index rank) {
  const auto& kernel = kernels::elementwise().of<U>();
  kernels::KeyBins<U> bins = kernels::all_key_bins<U>();
  KeyRank<U> place;
  for (;;) {
    std::vector<Index> totals(bins.count);
    source([&](std::span<const U> x) {
      const auto n = static_cast<Index>(x.size());
      if (n < 4 * bins.count) {  // faster than clearing and adding a histogram
        for (const U bits : x) {
          const U key = kernels::magnitude_key(bits);
          const auto bin = static_cast<U>(key - bins.first) >> bins.shift;
          if (key >= bins.first && bin < static_cast<U>(bins.count)) ++totals[bin];
        }
        return;
      }
      // Few segments, since each clears and adds a histogram of its own.
      const Index grain = std::max<Index>(Index{1} << 19, ceil_div(n, threads()));
      std::mutex lock;
      parallel_for(n, grain, [&](Index begin, Index end) {
        std::vector<std::uint32_t> counts(bins.count * kernels::histogram_lanes);
        std::vector<Index> own(bins.count);
        constexpr Index most = Index{1} << 31;  // counters have 32 bits
        for (Index at = begin; at < end; at += most) {
          kernel.histogram(x.data() + at, std::min(most, end - at), bins, counts.data());
          kernels::drain_histogram(counts.data(), bins.count, own.data());
        }
        const std::lock_guard hold(lock);
        for (std::int32_t b = 0; b < bins.count; ++b) totals[b] += own[b];
      });
    });
    std::int32_t bin = 0;
    Index before = place.below;
    while (rank >= before + totals[bin]) before += totals[bin++];
    place.below = before;
    place.equals = totals[bin];
    place.key = static_cast<U>(bins.first + (static_cast<U>(bin) << bins.shift));
    if (bins.shift == 0) return place;
    const int shift = std::max(0, bins.shift - 16);
    bins = {place.key, shift, std::int32_t{1} << (bins.shift - shift)};
  }
}

// Keeps keys above `boundary` and the first `ties` keys equal to it. equals: the number of equal
// keys in x. before[p], if known: equal keys before segment p of mask_grain elements.
template <class U>
void keep_above(std::span<const U> x, U boundary, Index ties, Index equals, std::uint8_t* bits,
                std::vector<Index> before = {}) {
  const auto& kernel = kernels::elementwise().of<U>();
  const auto n = static_cast<Index>(x.size());
  // Counts are needed only if some of the equal keys are kept and some are not.
  if (before.empty() && ties > 0 && ties < equals) {
    before.resize(ceil_div(n, mask_grain) + 1);
    parallel_for(n, mask_grain, [&](Index begin, Index end) {
      before[begin / mask_grain + 1] = kernel.count_key(x.data() + begin, end - begin, boundary);
    });
    for (std::size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  }
  parallel_for(n, mask_grain, [&](Index begin, Index end) {
    const Index seen = before.empty() ? 0 : before[begin / mask_grain];
    kernel.keep_above(x.data() + begin, end - begin, boundary, std::max<Index>(0, ties - seen),
                      bits + begin / 8);
  });
}

}  // namespace sten
