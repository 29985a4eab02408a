// SPDX-License-Identifier: Apache-2.0
// First choices of the exact fit (kernels/nmg_exact.h) in vectors: integer magnitudes, scores, and
// prices that keep patterns from being chosen too often.
//
// V is a type in the ISA's namespace with vectors Vec of `lanes` 32-bit integers and comparisons
// Test. Arrays over patterns are padded to whole vectors, arrays over strips to 16. Padding
// patterns are closed from the start, so they are never chosen.
#pragma once
#include <limits>

#include "kernels/reference/nmg_exact.h"
#include "kernels/reference/nmg_groups.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

template <class V>
class NmgFirstChoice {
 protected:
  using Vec = typename V::Vec;
  using Test = typename V::Test;
  using Int = std::int32_t;
  static constexpr Int lanes = V::lanes;

  NmgFirstChoice(const NmgFormat& f, std::int64_t rows, std::int64_t cols, NmgCarver& carve)
      : f_(f) {
    count_ = static_cast<Int>(f.count);
    rows_ = static_cast<Int>(rows);
    cols_ = static_cast<Int>(cols);
    padded_ = (cols_ + 15) / 16 * 16;
    stored_ = nmg_stores_scores(f, cols);
    stride_ = (count_ + 3) / 4 * 4;
    wide_ = (count_ + 15) / 16 * 16;
    const std::int64_t scores = stored_ ? std::int64_t{padded_} * stride_ : 0;
    x_ = carve.take<Int>((rows + 1) * padded_);
    scores_ = carve.take<Int>(scores + wide_ + 16);
    other_ = carve.take<std::uint16_t>(padded_);
    chosen_ = carve.take<std::uint16_t>(padded_);
    out_ = carve.take<Int>(stride_);
    in_ = carve.take<Int>(stride_);
    price_ = carve.take<Int>(wide_);
    next_price_ = carve.take<Int>(wide_);
    of_pattern_ = carve.take<Int>(2 * (count_ + 1));
    next_of_ = carve.take<Int>(2 * (count_ + 1));
  }

  // Returns false if the magnitudes do not fit in 32 bits.
  bool read(const NmgStrips<float>& in) {
    const Int whole = cols_ / lanes * lanes;
    const auto lasts = V::first(cols_ - whole);
    // The bits of magnitudes are ordered as integers; after subtracting 1, zeros come last.
    Vec greatest = V::all(0), least = V::all(-1);
    const auto see = [&](Vec v) {
      greatest = V::max(greatest, v);
      least = V::unsigned_min(least, V::sub(v, V::all(1)));
    };
    for (Int r = 0; r < rows_; ++r) {
      const float* x = in.x + r * in.row_stride;
      for (Int s = 0; s < whole; s += lanes) see(V::magnitudes(x + s));
      if (whole < cols_) see(V::magnitudes(x + whole, lasts));
    }
    const auto top = static_cast<std::uint32_t>(V::greatest(greatest));
    const std::uint32_t low = V::unsigned_least(least) + 1;
    const NmgRange range =
        NmgRange::of(std::bit_cast<float>(top), std::bit_cast<float>(top ? low : 0), f_.n);
    if (range.is_wide) return false;
    for (Int r = 0; r < rows_; ++r) {
      const float* x = in.x + r * in.row_stride;
      Int* to = x_ + r * padded_;
      for (Int s = 0; s < whole; s += lanes)
        V::store(to + s, V::scaled(V::magnitudes(x + s), range.scale));
      if (whole < cols_)
        V::store(to + whole, V::scaled(V::magnitudes(x + whole, lasts), range.scale));
      for (Int s = (cols_ + lanes - 1) / lanes * lanes; s < padded_; s += lanes)
        V::store(to + s, V::all(0));
    }
    std::fill_n(x_ + rows_ * padded_, padded_, 0);
    for (Int p = 1; p < count_; ++p) {
      out_[p] = row(f_.swaps[p].out);
      in_[p] = row(f_.swaps[p].in);
    }
    return true;
  }
  // Offset of row r; rows outside of the tensor share the row of zeros.
  Int row(Int r) const { return std::min(r, rows_) * padded_; }

  // Calls f(p, scores of pattern p), in order, for strips from s on.
  template <class F>
  void each_sum(Int s, Int end, F&& f) const {
    const Int* x = x_ + s;
    Vec sum = V::load(x + row(f_.patterns[0]));
    for (std::int64_t i = 1; i < f_.n; ++i) sum = V::add(sum, V::load(x + row(f_.patterns[i])));
    f(0, sum);
    if (f_.n == 1) {
      for (Int p = 1; p < end; ++p) f(p, V::load(x + in_[p]));
    } else {
      for (Int p = 1; p < end; ++p) {
        sum = V::add(V::sub(sum, V::load(x + out_[p])), V::load(x + in_[p]));
        f(p, sum);
      }
    }
  }

  struct Choices {
    std::int64_t strips, gap;
  };
  Choices choose_first() {
    for (Int p = 0; p < wide_; ++p) price_[p] = 0;
    int shift = 0;
    while (padded_ / 16 * 2 >> shift > 8) ++shift;
    Vec gaps = V::all(0);
    for (Int s = 0; s < padded_; s += lanes) {
      Vec best = V::all(-1), second = V::all(-1), at = V::all(0);
      Vec four[4] = {best, best, best, best};
      Int* scores = scores_ + std::int64_t{s} * stride_;
      const auto take = [&](Int p, Vec v) {
        second = V::max(second, V::min(v, best));
        at = V::blend(V::less(best, v), at, V::all(p));
        best = V::max(best, v);
      };
      each_sum(s, count_, [&](Int p, Vec v) {
        take(p, v);
        if (stored_) {
          four[p % 4] = v;
          if (p % 4 == 3 || p + 1 == count_)
            V::store_transposed(scores + p / 4 * 4, stride_, four[0], four[1], four[2], four[3]);
        }
      });
      const Test some = V::less(V::all(0), best);
      at = V::blend(some, V::all(count_), at);
      gaps = V::add(gaps, V::blend(some, V::all(0), V::shift_right(V::sub(best, second), shift)));
      V::store_narrow(chosen_ + s, at);
    }
    count_up(chosen_, of_pattern_);
    const std::int64_t chosen = padded_ - of_pattern_[count_];
    return {chosen, chosen ? (V::sum(gaps) << shift) / chosen : 0};
  }

  void find_prices(std::int64_t gap) {
    for (int step = 0; step < nmg_price_steps; ++step) {
      const std::int64_t overflow = nmg_overflow(of_pattern_, count_, f_.g);
      if (overflow == 0) return;
      nmg_next_prices<Int>(price_, gap, of_pattern_, count_, f_.g, next_price_);
      choose(next_price_);
      if (nmg_overflow(next_of_, count_, f_.g) >= overflow) return;
      std::swap(price_, next_price_);
      std::swap(of_pattern_, next_of_);
      std::swap(chosen_, other_);
    }
  }

  void choose(const Int* price) {
    for (Int s = 0; s < padded_; s += lanes) {
      Vec best = V::all(std::numeric_limits<Int>::min()), at = best;
      each_sum(s, count_, [&](Int p, Vec v) {
        v = V::sub(v, V::all(price[p]));
        at = V::blend(V::less(best, v), at, V::all(p));
        best = V::max(best, v);
      });
      const Vec none = V::all(count_);
      V::store_narrow(other_ + s, V::blend(V::less(V::load_narrow(chosen_ + s), none), none, at));
    }
    count_up(other_, next_of_);
  }

  // Two sets of counters, because increments by equal neighbours would wait for each other.
  void count_up(const std::uint16_t* chosen, Int* of) const {
    Int* even = of + count_ + 1;
    std::fill_n(of, 2 * (count_ + 1), 0);
    for (Int s = 0; s < padded_; s += 2) {
      ++of[chosen[s]];
      ++even[chosen[s + 1]];
    }
    for (Int p = 0; p <= count_; ++p) of[p] += even[p];
  }

  const Int* scores_of(Int s) const {
    if (stored_) return scores_ + std::int64_t{s} * stride_;
    Int* to = scores_;
    const Int* x = x_ + s;
    Int sum = 0;
    for (std::int64_t i = 0; i < f_.n; ++i) sum += x[row(f_.patterns[i])];
    to[0] = sum;
    for (Int p = 1; p < count_; ++p) to[p] = sum += x[in_[p]] - x[out_[p]];
    return to;
  }

  const NmgFormat& f_;
  Int count_, rows_, cols_, padded_, stride_, wide_;
  bool stored_;
  Int *x_, *scores_, *out_, *in_, *price_, *next_price_, *of_pattern_, *next_of_;
  std::uint16_t *other_, *chosen_;
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
