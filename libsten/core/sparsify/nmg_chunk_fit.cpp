// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/nmg_chunk_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/block/nmg/nmg_swaps.h"
#include "libsten/core/base/error.h"

namespace sten {
namespace {

// Up to this many candidates (strip, pattern) are sorted (64 MB for float). Beyond, a heap that
// generates candidates on demand gives the same result.
constexpr Index max_candidates = Index{1} << 22;

bool sorts_candidates(const NmgGeometry& geo) {
  return geo.patterns <= max_candidates / geo.strips;
}

std::size_t scratch_of(const NmgGeometry& geo, const kernels::NmgFormat& format, FitMethod method) {
  if (method == FitMethod::exact)
    return kernels::nmg_exact().scratch(format, std::min(geo.m, geo.view.rows),
                                        std::min(geo.strips, geo.view.cols));
  kernels::CountingBlock count(1);
  kernels::nmg_swaps_shared(count, format, true);
  return count.used();
}

}  // namespace

void check_nmg_chunk(const NmgGeometry& geo, const Shape& shape) {
  constexpr Index always = Index{1} << 25, most_times = 16;
  const Index chunk = geo.m * geo.strips, elements = size_of(shape);
  if (elements > 0 && chunk > always && chunk / most_times > elements)
    fail("n={},m={},g={}: a chunk of {} x {} elements is far larger than a tensor of shape {}",
         geo.n, geo.m, geo.g, geo.m, geo.strips, to_string(shape));
}

template <class E>
NmgChunkFit<E>::NmgChunkFit(const NmgGeometry& geo, const PatternTable& table, FitMethod method)
    : geo_(geo), table_(table), method_(method), pattern_of_(geo.strips) {
  if (method == FitMethod::exact || method == FitMethod::swaps) {
    constexpr std::size_t line = 64;
    room_ = scratch_of(geo, table.format(geo.g), method);
    std::size_t room = line + room_;
    memory_.reset(new std::byte[room]);  // uninitialized
    void* at = memory_.get();
    scratch_ = static_cast<std::byte*>(std::align(line, room_, at, room));
  } else {
    candidates_.resize(sorts_candidates(geo) ? geo.patterns * geo.strips : geo.strips);
    fill_.resize(geo.patterns);
    greedy_.resize(geo.strips);
    if (method == FitMethod::heuristic) members_.resize(geo.strips);
  }
}

template <class E>
std::span<const std::uint16_t> NmgChunkFit<E>::fit(const Bits* x, const NmgUnit& unit) {
  if (method_ == FitMethod::exact)
    fit_exactly(x, unit);
  else if (method_ == FitMethod::swaps)
    fit_by_swaps(x, unit);
  else
    fit_greedily(x, unit);
  return pattern_of_;
}

template <class E>
template <class F>
void NmgChunkFit<E>::decode(const Bits* x, const NmgUnit& unit, Index stride, F&& f) {
  for (Index r = 0; r < unit.rows; ++r) {
    const Bits* from = x + unit.offset + r * geo_.view.row_stride;
    Score* to = values_.data() + r * stride;
    for (Index s = 0; s < unit.cols; ++s) to[s] = f(E::decode(from[s * geo_.view.col_stride]));
  }
}

template <class E>
void NmgChunkFit<E>::fit_exactly(const Bits* x, const NmgUnit& unit) {
  const kernels::NmgFormat format = table_.format(geo_.g);
  kernels::NmgStrips<Score> in{nullptr, 0, unit.rows, unit.cols};
  constexpr bool numbers = E::kind == FloatKind::f32 || E::kind == FloatKind::f64;
  if (numbers && geo_.view.col_stride == 1) {
    in.x = reinterpret_cast<const Score*>(x + unit.offset);
    in.row_stride = geo_.view.row_stride;
  } else {
    values_.resize(unit.rows * unit.cols);
    decode(x, unit, unit.cols, [](Score v) { return v; });
    in.x = values_.data();
    in.row_stride = unit.cols;
  }
  if constexpr (std::is_same_v<Score, double>)
    kernels::nmg_exact().fit_f64(format, in, scratch_, pattern_of_.data());
  else
    kernels::nmg_exact().fit_f32(format, in, scratch_, pattern_of_.data());
}

// The same result as on a device, which does not depend on the number of threads.
template <class E>
void NmgChunkFit<E>::fit_by_swaps(const Bits* x, const NmgUnit& unit) {
  const kernels::NmgFormat format = table_.format(geo_.g);
  kernels::SerialBlock block(1, scratch_, room_);
  kernels::NmgSwapsChunk<kernels::SerialBlock> chunk(block, format, true);
  const std::uint16_t* found = chunk.fit(
      {x, E::kind, unit.offset, geo_.view.row_stride, geo_.view.col_stride, unit.rows, unit.cols});
  std::copy_n(found, geo_.strips, pattern_of_.begin());
}

template <class E>
void NmgChunkFit<E>::fit_greedily(const Bits* x, const NmgUnit& unit) {
  values_.assign(geo_.m * geo_.strips, Score{0});
  // NaN ranks as infinity, so that it is kept and noticed, and sorting has a total order.
  decode(x, unit, geo_.strips, [](Score v) {
    return std::isnan(v) ? std::numeric_limits<Score>::infinity() : std::abs(v);
  });
  const kernels::NmgChunk<Score> chunk{values_.data(), table_.data(), geo_.n,
                                       geo_.m,         geo_.patterns, geo_.g};
  (sorts_candidates(geo_) ? kernels::nmg_fit_greedy<Score>
                          : kernels::nmg_fit_greedy_lazy<Score>)(chunk, candidates_.data(),
                                                                 fill_.data(), greedy_.data());
  if (method_ == FitMethod::heuristic)
    kernels::nmg_improve(chunk, members_.data(), fill_.data(), greedy_.data());
  std::copy(greedy_.begin(), greedy_.end(), pattern_of_.begin());
}

template class NmgChunkFit<FloatBits<FloatKind::f64>>;
template class NmgChunkFit<FloatBits<FloatKind::f32>>;
template class NmgChunkFit<FloatBits<FloatKind::f16>>;
template class NmgChunkFit<FloatBits<FloatKind::bf16>>;
template class NmgChunkFit<FloatBits<FloatKind::f8_e4m3>>;
template class NmgChunkFit<FloatBits<FloatKind::f8_e5m2>>;

}  // namespace sten
