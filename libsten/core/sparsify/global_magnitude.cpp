// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/global_magnitude.h"

#include <bit>
#include <cmath>
#include <optional>

#include "libsten/core/base/floats.h"
#include "libsten/core/sparsify/select_key.h"

namespace sten {
namespace {

// Calls f(span of keys) over x, with elements read as U; for mixed dtypes as double, in segments.
template <class U, class F>
void with_keys(const Dense& x, bool mixed, F&& f) {
  if (!mixed) return f(x.values.as<U>());
  if constexpr (sizeof(U) == 8) {
    constexpr Index piece = mask_grain * 16;
    std::vector<U> keys;
    with_float(x.dtype(), [&]<class E>(E) {
      const auto v = x.values.as<typename E::Bits>();
      for (Index begin = 0; begin < x.size(); begin += piece) {
        const Index n = std::min(piece, x.size() - begin);
        keys.resize(n);
        parallel_for(n, mask_grain, [&](Index a, Index b) {
          for (Index i = a; i < b; ++i)
            keys[i] = std::bit_cast<std::uint64_t>(static_cast<double>(E::decode(v[begin + i])));
        });
        f(std::span<const U>(keys));
      }
    });
  }
}

template <class U>
Index count_key(std::span<const U> x, U key) {
  const auto n = static_cast<Index>(x.size());
  std::vector<Index> counts(ceil_div(n, mask_grain));
  parallel_for(n, mask_grain, [&](Index begin, Index end) {
    counts[begin / mask_grain] =
        kernels::elementwise().of<U>().count_key(x.data() + begin, end - begin, key);
  });
  Index total = 0;
  for (const Index c : counts) total += c;
  return total;
}

}  // namespace

GlobalMagnitude::GlobalMagnitude(std::size_t count, const With& with, double sparsity)
    : shares_(count) {
  std::optional<DType> dtype;
  for (std::size_t k = 0; k < count; ++k)
    with(k, [&](const Dense& x) {
      mixed_ |= dtype && *dtype != x.dtype();
      dtype = x.dtype();
      elements_ += x.size();
    });
  drop_ = std::llround(sparsity * static_cast<double>(elements_));
  if (drop_ == 0 || drop_ == elements_) return;
  with_width(mixed_ ? 8 : width_of(*dtype), [&]<class U>(U) { find<U>(count, with); });
}

template <class U>
void GlobalMagnitude::find(std::size_t count, const With& with) {
  const KeySource<U> source = [&](const std::function<void(std::span<const U>)>& f) {
    for (std::size_t k = 0; k < count; ++k)
      with(k, [&](const Dense& x) { with_keys<U>(x, mixed_, f); });
  };
  const KeyRank<U> last = select_key<U>(source, drop_ - 1);
  boundary_ = last.key;
  Index stay = last.below + last.equals - drop_;
  if (stay == 0) return;
  for (std::size_t k = 0; k < count; ++k)
    with(k, [&](const Dense& x) {
      Share& share = shares_[k];
      with_keys<U>(x, mixed_,
                   [&](std::span<const U> keys) { share.equals += count_key<U>(keys, last.key); });
      share.stay = std::min(stay, share.equals);
      stay -= share.stay;
    });
}

Mask GlobalMagnitude::select(std::size_t k, const Dense& x) const {
  if (drop_ == 0) return Mask::all(x.extents);
  Mask mask = Mask::none(x.extents);
  if (drop_ == elements_) return mask;
  std::uint8_t* bits = mask.bits.mutate();
  Share share = shares_[k];
  with_width(mixed_ ? 8 : x.values.width(), [&]<class U>(U) {
    with_keys<U>(x, mixed_, [&](std::span<const U> keys) {
      const U boundary = static_cast<U>(boundary_);
      const Index equals = mixed_ && share.stay ? count_key<U>(keys, boundary) : share.equals;
      keep_above(keys, boundary, std::min(share.stay, equals), equals, bits);
      share.stay -= std::min(share.stay, equals);
      bits += keys.size() / 8;  // all segments but the last are multiples of 8
    });
  });
  return mask;
}

}  // namespace sten
