// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/magnitude.h"

#include <atomic>
#include <optional>

#include "libsten/core/base/random.h"
#include "libsten/core/sparsify/select_key.h"
#include "libsten/core/sparsify/streaming.h"
#include "libsten/core/tensor/device_view.h"

namespace sten {
namespace {

constexpr Index samples = Index{1} << 16;

// The result of select_key() in one pass over x instead of two or four: a sample brackets the key,
// and the few keys in the bracket are collected and sorted. before[p]: elements equal to the key in
// segments before p, of mask_grain elements each. No value if the key lies outside of the bracket
// or the bracket has many keys.
template <class U>
std::optional<KeyRank<U>> select_by_sample(std::span<const U> x, Index rank,
                                           std::vector<Index>& before) {
  constexpr Index room = mask_grain / 8;
  const auto n = static_cast<Index>(x.size());
  if (n < 16 * samples) return std::nullopt;
  std::vector<U> sample(samples);
  for (Index k = 0; k < samples; ++k) {
    // One sample per equal part, so that rows with different scales are represented.
    const Index part = n / samples;
    const auto offset = static_cast<Index>(random_bits(0, k) % static_cast<std::uint64_t>(part));
    sample[k] = kernels::magnitude_key(x[k * part + offset]);
  }
  std::sort(sample.begin(), sample.end());
  // In two of three cases the rank of a sample is off by at most sqrt(samples) / 2 = 128.
  constexpr Index margin = 600;
  const auto middle = static_cast<Index>(static_cast<double>(rank) / static_cast<double>(n) *
                                         static_cast<double>(samples));
  const U first = middle < margin ? U{0} : sample[middle - margin];
  const U last = middle + margin >= samples ? kernels::greatest_key<U> : sample[middle + margin];

  const Index pieces = ceil_div(n, mask_grain);
  std::vector<std::vector<U>> keys(pieces);
  std::atomic<Index> below = 0, inside = 0;
  std::atomic<bool> too_many = false;
  parallel_for(n, mask_grain, [&](Index begin, Index end) {
    if (too_many) return;
    std::vector<U> found(room);
    const auto count = kernels::elementwise().of<U>().keys_between(x.data() + begin, end - begin,
                                                                   first, last, found.data(), room);
    below += count.below;
    inside += count.inside;
    if (count.inside > room)
      too_many = true;
    else
      keys[begin / mask_grain].assign(found.begin(), found.begin() + count.inside);
  });
  if (too_many || rank < below || rank >= below + inside) return std::nullopt;

  std::vector<U> all;
  all.reserve(inside);
  for (const auto& k : keys) all.insert(all.end(), k.begin(), k.end());
  std::nth_element(all.begin(), all.begin() + (rank - below), all.end());
  KeyRank<U> place{all[rank - below], below, 0};
  for (const U key : all) place.below += key < place.key;
  before.assign(pieces + 1, 0);
  for (Index p = 0; p < pieces; ++p)
    before[p + 1] = before[p] + std::count(keys[p].begin(), keys[p].end(), place.key);
  place.equals = before[pieces];
  return place;
}

// Keeps all elements except the `drop` smallest, 0 < drop < N; `bits` must be 0.
void keep_all_but(Index drop, const Values& x, std::uint8_t* bits) {
  with_width(x.width(), [&]<class U>(U) {
    const auto v = x.as<U>();
    std::vector<Index> before;
    std::optional<KeyRank<U>> last;
    if (x.size() < max_sorted_keys)
      last = select_by_sorting(v, drop - 1);
    else
      last = select_by_sample(v, drop - 1, before);
    if (!last) last = select_key<U>([&](const auto& f) { f(v); }, drop - 1);
    keep_above(v, last->key, last->below + last->equals - drop, last->equals, bits,
               std::move(before));
  });
}

template <class U>
Index count_zeros(std::span<const U> v) {
  return std::count_if(v.begin(), v.end(),
                       [](U bits) { return kernels::magnitude_key(bits) == 0; });
}

}  // namespace

Mask Magnitude::select(const Dense& x, const Hints&) const {
  sparsify_detail::check_prunable(x.dtype());
  const Index drop = std::llround(sparsity * static_cast<double>(x.size()));
  if (x.device() != Device::cpu) {
    Mask mask = Mask::none(x.extents, x.device());
    std::uint8_t* bits = mask.bits.mutate();
    launch(&kernels::ElementwiseFunctions::keep_largest, elements_of(x.values), drop, bits);
    return mask;
  }
  if (drop == 0) return Mask::all(x.extents);
  Mask mask = Mask::none(x.extents);
  if (drop == x.size()) return mask;
  keep_all_but(drop, x.values, mask.bits.mutate());
  return mask;
}

// Positions that are not stored rank as zeros.
Mask Magnitude::select_stored(const Entries& x, const Hints&) const {
  const Index n = size_of(x.extents), absent = n - x.size();
  const Index drop = std::llround(sparsity * static_cast<double>(n));
  if (drop == 0) return Mask::all({x.size()});
  Mask mask = Mask::none({x.size()});
  if (drop == n) return mask;
  std::uint8_t* bits = mask.bits.mutate();
  with_width(x.values.width(), [&]<class U>(U) {
    const auto v = x.values.as<U>();
    const Index zeros = absent + count_zeros(v);
    if (drop > zeros) return keep_all_but(drop - absent, x.values, bits);
    // Of the zeros, stored or not, the first ones are kept.
    for (Index k = 0, nonzeros = 0; k < x.size(); ++k) {
      const bool is_zero = kernels::magnitude_key(v[k]) == 0;
      if (!is_zero || x.at[k] - nonzeros < zeros - drop) set_bit(bits, k);
      nonzeros += !is_zero;
    }
  });
  return mask;
}

Magnitude Magnitude::make(const Spec& spec) {
  spec.check_keys({"sparsity"});
  return {fraction_of(spec, "sparsity")};
}

}  // namespace sten
