#include "libsten/sparsify/magnitude.h"

#include <mutex>

#include "libsten/sparsify/streaming.h"

namespace sten {
namespace {

// Magnitude of the element that comes `rank`-th (from 0) in ascending order, by radix selection:
// a histogram of the top 16 bits, then of the next 16 within the boundary bin. On return `rank`
// counts from the first of the equals, and `equals` says how many there are.
template <class E>
std::uint64_t select_magnitude(std::span<const typename E::Bits> x, Index& rank, Index& equals) {
  constexpr int width = 8 * sizeof(typename E::Bits);
  constexpr int step = std::min(width, 16);
  const auto n = static_cast<Index>(x.size());
  const Index grain = std::max<Index>(Index{1} << 20, ceil_div(n, threads()));
  std::uint64_t prefix = 0;
  for (int shift = width - step; shift >= 0; shift -= step) {
    std::vector<Index> histogram(std::size_t{1} << step);
    std::mutex lock;
    parallel_for(n, grain, [&](Index begin, Index end) {
      std::vector<Index> own(histogram.size());
      for (Index i = begin; i < end; ++i) {
        const std::uint64_t key = magnitude_bits<E>(x[i]);
        const bool in_bin = shift + step == width || key >> (shift + step) == prefix;
        if (in_bin) ++own[key >> shift & ((std::uint64_t{1} << step) - 1)];
      }
      const std::lock_guard hold(lock);
      for (std::size_t b = 0; b < own.size(); ++b) histogram[b] += own[b];
    });
    std::size_t bin = 0;
    while (rank >= histogram[bin]) rank -= histogram[bin++];
    prefix = prefix << step | bin;
    equals = histogram[bin];
  }
  return prefix;
}

template <class E>
void mask_smallest(std::span<const typename E::Bits> x, Index drop, std::uint8_t* bits) {
  const auto n = static_cast<Index>(x.size());
  Index rank = drop - 1, equals = 0;
  const std::uint64_t boundary = select_magnitude<E>(x, rank, equals);
  const Index stay = equals - (rank + 1);  // of the elements equal to the boundary, the first ones

  std::vector<Index> before(ceil_div(n, mask_grain) + 1);  // boundary elements before a piece
  parallel_for(n, mask_grain, [&](Index begin, Index end) {
    Index count = 0;
    for (Index i = begin; i < end; ++i) count += magnitude_bits<E>(x[i]) == boundary;
    before[begin / mask_grain + 1] = count;
  });
  for (std::size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  parallel_for(n, mask_grain, [&](Index begin, Index end) {
    Index seen = before[begin / mask_grain];
    for (Index i = begin; i < end; ++i) {
      const std::uint64_t key = magnitude_bits<E>(x[i]);
      if (key > boundary || (key == boundary && seen++ < stay)) set_bit(bits, i);
    }
  });
}

}  // namespace

Mask Magnitude::select(const Dense& x, const Hints&) const {
  sparsify_detail::check_prunable(x.dtype());
  const Index drop = std::llround(sparsity * static_cast<double>(x.size()));
  if (drop == 0) return Mask::all(x.extents);
  Mask mask = Mask::none(x.extents);
  if (drop == x.size()) return mask;
  with_float(x.dtype(), [&]<class E>(E) {
    mask_smallest<E>(x.values.as<typename E::Bits>(), drop, mask.bits.mutate());
  });
  return mask;
}

Magnitude Magnitude::make(const Spec& spec) {
  spec.check_keys({"sparsity"});
  return {fraction_of(spec, "sparsity")};
}

}  // namespace sten
