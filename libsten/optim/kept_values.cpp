#include "libsten/optim/kept_values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "libsten/base/parallel.h"

namespace sten {
namespace {

// before[b]: kept elements before block b of mask_grain elements, and behind the last block all.
struct KeptBefore {
  std::vector<Index> before;
};

std::shared_ptr<const KeptBefore> kept_before(const Tensor& w) {
  return w.of_positions().get<KeptBefore>([&] {
    const Masked& m = w.as<Masked>();
    const Index n = size_of(m.extents);
    KeptBefore k{{0}};
    for (Index begin = 0; begin < n; begin += mask_grain)
      k.before.push_back(k.before.back() +
                         count_bits(m.mask.data(), begin, std::min(n, begin + mask_grain)));
    return k;
  });
}

// f(element, number among the kept ones) for all that are kept.
template <class F>
void for_kept(const Tensor& w, F f) {
  const auto counts = kept_before(w);
  const std::uint8_t* bits = w.as<Masked>().mask.data();
  parallel_for(size_of(w.shape()), mask_grain, [&](Index begin, Index end) {
    Index kept = counts->before[static_cast<std::size_t>(begin / mask_grain)];
    for (Index i = begin; i < end; i += 64) {
      std::uint64_t word = 0;  // spare bits are 0
      std::memcpy(&word, bits + i / 8,
                  static_cast<std::size_t>(ceil_div(std::min<Index>(64, end - i), 8)));
      for (; word; word &= word - 1) f(i + std::countr_zero(word), kept++);
    }
  });
}

}  // namespace

Index kept_count(const Tensor& w) { return kept_before(w)->before.back(); }

void gather_kept(const Tensor& w, const float* from, float* to) {
  for_kept(w, [=](Index i, Index k) { to[k] = from[i]; });
}

void scatter_kept(const Tensor& w, const float* from, float* to) {
  for_kept(w, [=](Index i, Index k) { to[i] = from[k]; });
}

}  // namespace sten
