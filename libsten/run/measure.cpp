#include "libsten/run/measure.h"

#include <cmath>

#include "libsten/base/floats.h"
#include "libsten/base/parallel.h"

namespace sten {
namespace {

// piece(begin, end) for pieces that do not depend on the thread count, in the order of the pieces.
template <class T, class F>
std::vector<T> by_piece(Index n, F&& piece) {
  std::vector<T> results(ceil_div(n, mask_grain));
  parallel_for(n, mask_grain,
               [&](Index begin, Index end) { results[begin / mask_grain] = piece(begin, end); });
  return results;
}

}  // namespace

Magnitudes magnitudes(const Dense& x, const Mask& keep) {
  Magnitudes sum;
  with_float(x.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    const auto pieces = by_piece<Magnitudes>(x.size(), [&](Index begin, Index end) {
      Magnitudes m;
      for (Index i = begin; i < end; ++i) {
        const double size = std::abs(static_cast<double>(E::decode(v[i])));
        m.all += size;
        if (bit_at(keep.bits.data(), i)) m.kept += size;
      }
      return m;
    });
    for (const Magnitudes& m : pieces) {
      sum.all += m.all;
      sum.kept += m.kept;
    }
  });
  return sum;
}

double energy(const Magnitudes& m) { return m.all > 0 ? m.kept / m.all : 1; }

Index zeros(const Dense& x) {
  Index n = 0;
  const auto count = [&](auto is_zero) {
    for (const Index c : by_piece<Index>(x.size(), [&](Index begin, Index end) {
           Index k = 0;
           for (Index i = begin; i < end; ++i) k += is_zero(i);
           return k;
         }))
      n += c;
  };
  if (is_prunable(x.dtype()))
    with_float(x.dtype(), [&]<class E>(E) {
      const auto v = x.values.as<typename E::Bits>();
      count([&](Index i) { return magnitude_bits<E>(v[i]) == 0; });
    });
  else
    with_width(x.values.width(), [&]<class U>(U) {
      const auto v = x.values.as<U>();
      count([&](Index i) { return v[i] == 0; });
    });
  return n;
}

std::optional<Index> first_not_finite(const Dense& x) {
  if (!is_prunable(x.dtype())) return std::nullopt;
  Index first = x.size();
  with_float(x.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    for (const Index i : by_piece<Index>(x.size(), [&](Index begin, Index end) {
           for (Index k = begin; k < end; ++k)
             if (!std::isfinite(E::decode(v[k]))) return k;
           return x.size();
         }))
      first = std::min(first, i);
  });
  if (first == x.size()) return std::nullopt;
  return first;
}

}  // namespace sten
