#include "libsten/sparsify/per_block.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "libsten/base/error.h"

namespace sten {
namespace {

template <class T>
void keep_largest(std::span<const T> in, std::span<std::uint8_t> keep, Index n) {
  // NaN ranks as infinity: it stays rather than vanish unseen.
  const auto size = [&](Index i) {
    const T v = std::abs(in[i]);
    return std::isnan(v) ? std::numeric_limits<T>::infinity() : v;
  };
  n = std::min<Index>(n, std::ssize(in));
  constexpr Index few = 16;  // beyond, n passes cost more than one selection
  if (n > few) {
    std::vector<Index> order(in.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::nth_element(order.begin(), order.begin() + n - 1, order.end(), [&](Index a, Index b) {
      return size(a) != size(b) ? size(a) > size(b) : a < b;
    });
    for (Index i = 0; i < n; ++i) keep[order[i]] = 1;
    return;
  }
  for (Index left = n; left > 0; --left) {
    Index best = -1;
    for (Index i = 0; i < std::ssize(in); ++i)
      if (!keep[i] && (best < 0 || size(i) > size(best))) best = i;
    keep[best] = 1;
  }
}

}  // namespace

void PerBlock::select(std::span<const float> in, std::span<std::uint8_t> keep) const {
  keep_largest(in, keep, n);
}
void PerBlock::select(std::span<const double> in, std::span<std::uint8_t> keep) const {
  keep_largest(in, keep, n);
}

PerBlock PerBlock::make(const Spec& spec) {
  spec.check_keys({"n", "m", "axis", "dims"});
  PerBlock s{spec.integer("n"), spec.integer("m"), spec.integer("axis", 1), {}};
  if (s.n < 1 || s.n > s.m) fail_usage("{}: n of m are kept, so 1 <= n <= m must hold", spec.str());
  if (s.m > Index{1} << 16) fail_usage("{}: m is more than 65536", spec.str());
  if (s.axis != 0 && s.axis != 1) fail_usage("{}: axis is neither 0 nor 1", spec.str());
  if (spec.has("dims")) s.dims = Dims::parse(spec.word("dims", ""));
  return s;
}

}  // namespace sten
