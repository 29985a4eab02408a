// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/nm_magnitude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/nm_select.h"
#include "libsten/core/base/error.h"
#include "libsten/core/sparsify/sparsifier.h"
#include "libsten/core/tensor/device_view.h"
#include "libsten/core/tensor/row_tiles.h"

namespace sten {
namespace {

template <class T>
void keep_largest(std::span<const T> in, std::span<std::uint8_t> keep, Index n) {
  // NaN ranks as infinity, so that it is kept and noticed.
  const auto size = [&](Index i) {
    const T v = std::abs(in[i]);
    return std::isnan(v) ? std::numeric_limits<T>::infinity() : v;
  };
  n = std::min<Index>(n, std::ssize(in));
  constexpr Index max_passes = 16;  // above 16, n passes cost more than one selection
  if (n > max_passes) {
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

bool is_ranked(const NmMagnitude& s) {
  static_assert(kernels::most_ranked <= NmPositions::most);
  return s.m <= kernels::most_ranked;
}

// bits and out: receive the mask and the packed rows; either may be nullptr.
template <class E>
void select_segments(const NmMagnitude& s, const MatrixView& lines, const typename E::Bits* x,
                     std::uint8_t* bits, const NmWriter<typename E::Bits>* out) {
  using U = typename E::Bits;
  const auto select = kernels::nm_select().of<U>();
  const RowTiles pieces(lines, s.m);
  const Index words_per_row = pieces.words_per_row();
  parallel_for(pieces.units(), pieces.grain(), [&](Index begin, Index end) {
    RowTiles::Buffer<U> from;
    RowTiles::Words words;
    for (Index u = begin; u < end; ++u)
      pieces.each(u, [&](const RowTiles::Tile& p) {
        from.read(pieces, p, x);
        for (Index l = 0; l < p.lines; ++l) {
          const U* at = from.values + l * from.stride;
          std::uint64_t* keep = words + l * words_per_row;
          select(at, p.cols, s.n, s.m, E::first_not_finite, keep);
          if (out) out->write(p.line + l, p.col, p.cols, at, keep);
        }
        if (bits) pieces.set_bits(p, words, bits);
      });
  });
}

}  // namespace

void NmMagnitude::select(std::span<const float> in, std::span<std::uint8_t> keep) const {
  keep_largest(in, keep, n);
}
void NmMagnitude::select(std::span<const double> in, std::span<std::uint8_t> keep) const {
  keep_largest(in, keep, n);
}

bool NmMagnitude::selects_on_device(const Dense& x) const {
  return m <= kernels::most_nm_on_device &&
         block_matrix(sparsify_detail::rows_of(x.extents, axis, dims)).has_value();
}

bool NmMagnitude::select_by_row(const Dense& x, const MatrixView& lines, std::uint8_t* bits) const {
  if (!is_ranked(*this)) return false;
  if (x.device() != Device::cpu) {
    launch(&kernels::NmFunctions::select, *block_matrix(lines), n, m, elements_of(x.values),
           float_kind(x.dtype()), bits);
    return true;
  }
  with_float(x.dtype(), [&]<class E>(E) {
    select_segments<E>(*this, lines, x.values.as<typename E::Bits>().data(), bits, nullptr);
  });
  return true;
}

std::optional<Nm> NmMagnitude::fit(const Dense& x, Mask* kept) const {
  sparsify_detail::check_prunable(x.dtype());
  if (!is_ranked(*this)) return std::nullopt;
  Nm out = Nm::unwritten(x.dtype(), x.extents, n, m, axis, dims, x.device());
  if (x.device() != Device::cpu) {
    const MatrixView lines = MatrixView::of(x.extents, dims, axis == 0);
    Mask mask = Mask::none(x.extents, x.device());
    select_by_row(x, lines, mask.bits.mutate());
    std::byte* values = out.values.mutate_bytes();
    std::uint8_t* pos = out.pos.mutate();
    launch(&kernels::NmFunctions::pack, *block_matrix(lines), n, m, elements_of(x.values),
           mask.bits.data(), values, pos, out.row_bytes());
    if (kept) *kept = std::move(mask);
    return out;
  }
  if (kept) *kept = Mask::none(x.extents);
  std::uint8_t* bits = kept ? kept->bits.mutate() : nullptr;
  with_float(x.dtype(), [&]<class E>(E) {
    using U = typename E::Bits;
    const NmWriter<U> writer = out.writer<U>();
    select_segments<E>(*this, MatrixView::of(x.extents, dims, axis == 0), x.values.as<U>().data(),
                       bits, &writer);
  });
  return out;
}

NmMagnitude NmMagnitude::make(const Spec& spec) {
  spec.check_keys({"n", "m", "axis", "dims"});
  NmMagnitude s{spec.integer("n"), spec.integer("m"), spec.integer("axis", 1), {}};
  if (s.n < 1 || s.n > s.m) fail_usage("{}: expected 1 <= n <= m", spec.str());
  if (s.m > Index{1} << 16) fail_usage("{}: m must be at most 65536", spec.str());
  if (s.axis != 0 && s.axis != 1) fail_usage("{}: axis must be 0 or 1", spec.str());
  if (spec.has("dims")) s.dims = Dims::parse(spec.word("dims", ""));
  return s;
}

}  // namespace sten
