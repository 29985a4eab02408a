// The exact fit of kernels/nmg_fit.h in vectors. Compiled once per ISA, for the target that the
// includer's STEN_TARGET names. The steps, their order and their names are those of the reference.
//
// V is a type in the ISA's namespace with vectors Vec of `lanes` 32-bit integers and comparisons
// Test. Arrays over patterns are padded to whole vectors, over strips to 16; what stands beside the
// patterns is never chosen, since it is closed from the start.
//
// Two orders of scores: the first choice compares vectors of strips, pattern by pattern, and adds
// the sums up anew each time (one row less, one more); losses by moving compare vectors of
// patterns, strip by strip, from a transposed copy.
#pragma once
#include <bit>
#include <limits>

#include "kernels/reference/nmg_exact.h"
#include "kernels/reference/nmg_groups.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// nv: vectors that hold a number for each pattern; 0 if only known at run time.
template <class V, int nv>
class NmgExact {
  using Vec = typename V::Vec;
  using Test = typename V::Test;
  using Int = std::int32_t;

 public:
  NmgExact(const NmgFormat& f, std::int64_t rows, std::int64_t cols, NmgCarver carve,
           std::uint16_t* pattern_of)
      : f_(f), pattern_of_(pattern_of), groups_(f, carve) {
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
    label_ = carve.take<Int>(wide_);
    via_ = carve.take<Int>(wide_);
    bar_ = carve.take<Int>(wide_);
    kind_ = carve.take<Int>(wide_);
    of_pattern_ = carve.take<Int>(2 * (count_ + 1));
    next_of_ = carve.take<Int>(2 * (count_ + 1));
    known_ = carve.take<std::uint8_t>(count_);
    loss_ = carve.take<Int>(std::int64_t{count_} * wide_);
    mover_ = carve.take<Int>(std::int64_t{count_} * wide_);
    used_ = carve.used();
  }
  std::size_t bytes() const { return used_; }

  // False if the values do not fit into 32 bits.
  bool run(const NmgStrips<float>& in) {
    if (!read(in)) return false;
    const Choices first = choose_first();
    if (first.strips == f_.strips() && first.strips >= nmg_fewest_priced) find_prices(first.gap);
    std::copy_n(chosen_, cols_, pattern_of_);
    if (nmg_overflow(of_pattern_, count_, f_.g) > 0) {
      groups_.build(pattern_of_, cols_, of_pattern_);
      std::fill_n(known_, count_, std::uint8_t{0});
      for (Int p = count_; p < wide_; ++p) price_[p] = 0;
      Int sources[most_exact_patterns];
      for (Int n = overfull(sources); n > 0; n = still_overfull(sources, n))
        move_along(nearest_underfull(sources, n));
    } else {
      std::copy_n(of_pattern_, count_, groups_.size);
    }
    groups_.fill_up(pattern_of_, cols_);
    return true;
  }

 private:
  static constexpr Int lanes = V::lanes;
  static constexpr Int infinite = std::numeric_limits<Int>::max() / 16 * 5;
  Int vectors() const { return nv > 0 ? nv : (count_ + lanes - 1) / lanes; }

  bool read(const NmgStrips<float>& in) {
    const Int whole = cols_ / lanes * lanes;
    const auto lasts = V::first(cols_ - whole);
    // As integers, magnitudes are in order; less 1, zeros come last.
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
  // Where a row begins; those beyond the tensor are the row of zeros.
  Int row(Int r) const { return std::min(r, rows_) * padded_; }

  // f(p, the sums of pattern p), in order, for strips from s on.
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

  // In two sets of counters: neighbours that are equal would wait for each other.
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

  void look_at(Int p) {
    if (known_[p]) return;
    known_[p] = 1;
    Int* loss = loss_ + std::int64_t{p} * wide_;
    Int* mover = mover_ + std::int64_t{p} * wide_;
    const std::uint16_t* strips = groups_.of(p);
    const Int size = groups_.size[p];
    if (nv > 0 && stored_) {
      Vec least[nv ? nv : 1], who[nv ? nv : 1];
      for (Int v = 0; v < nv; ++v) {
        least[v] = V::all(infinite);
        who[v] = V::all(0);
      }
      for (Int i = 0; i < size; ++i) {
        const Int* scores = scores_ + std::int64_t{strips[i]} * stride_;
        const Vec own = V::all(scores[p]), s = V::all(strips[i]);
        for (Int v = 0; v < nv; ++v) {
          const Vec l = V::sub(own, V::load(scores + v * lanes));
          who[v] = V::blend(V::less(l, least[v]), who[v], s);
          least[v] = V::min(least[v], l);
        }
      }
      for (Int v = 0; v < nv; ++v) {
        V::store(loss + v * lanes, least[v]);
        V::store(mover + v * lanes, who[v]);
      }
    } else {
      std::fill_n(loss, wide_, infinite);
      for (Int i = 0; i < size; ++i) add_to(p, strips[i]);
    }
  }

  // Takes strip s, which came to p, into its losses; among equals the lowest strip moves.
  void add_to(Int p, Int strip) {
    const Int* scores = scores_of(strip);
    const Vec own = V::all(scores[p]), s = V::all(strip);
    for (Int q = 0; q < vectors() * lanes; q += lanes) {
      const std::int64_t at = std::int64_t{p} * wide_ + q;
      const Vec l = V::sub(own, V::load(scores + q)), least = V::load(loss_ + at),
                who = V::load(mover_ + at);
      const Vec lower = V::blend(V::less(l, least), V::min(who, s), s);
      V::store(mover_ + at, V::blend(V::less(least, l), lower, who));
      V::store(loss_ + at, V::min(least, l));
    }
  }

  Int overfull(Int* sources) const {
    Int n = 0;
    for (Int p = 0; p < count_; ++p)
      if (groups_.size[p] > f_.g) sources[n++] = p;
    return n;
  }
  Int still_overfull(Int* sources, Int n) const {
    Int left = 0;
    for (Int i = 0; i < n; ++i)
      if (groups_.size[sources[i]] > f_.g) sources[left++] = sources[i];
    return left;
  }

  void reach_from(Int p) {
    look_at(p);
    const Vec label = V::all(label_[p]), from = V::all(p);
    const Int* loss = loss_ + std::int64_t{p} * wide_;
    for (Int q = 0; q < vectors() * lanes; q += lanes) {
      const Vec to = V::add(label, V::load(loss + q)), old = V::load(label_ + q);
      V::store(via_ + q, V::blend(V::less(to, old), V::load(via_ + q), from));
      V::store(label_ + q, V::min(old, to));
    }
  }

  Int nearest_underfull(const Int* sources, Int n) {
    const Int width = vectors() * lanes;
    // kind: 0 where underfull. bar: greater than any distance where closed.
    for (Int q = 0; q < width; q += lanes) {
      V::store(label_ + q, V::all(infinite));
      V::store(via_ + q, V::all(-1));
    }
    for (Int q = 0; q < count_; ++q) {
      kind_[q] = groups_.size[q] >= f_.g;
      bar_[q] = 0;
    }
    constexpr Int closed = std::numeric_limits<Int>::max();
    std::fill(bar_ + count_, bar_ + width, closed);
    for (Int i = 0; i < n; ++i) {
      bar_[sources[i]] = closed;
      label_[sources[i]] = -price_[sources[i]];
    }
    for (Int i = 0; i < n; ++i) reach_from(sources[i]);
    for (;;) {
      // By distance, then underfull ones first, then the lowest.
      Vec nearest = V::all(closed);
      for (Int q = 0; q < width; q += lanes) nearest = V::min(nearest, key(q));
      const Int least = V::least(nearest);
      Int at = 0;
      for (Int q = 0; q < width; q += lanes)
        if (const std::uint32_t hits = V::bits(V::equal(key(q), V::all(least)))) {
          at = q + std::countr_zero(hits);
          break;
        }
      if ((least & 1) == 0) {
        const Vec distance = V::all(least >> 1);
        for (Int q = 0; q < width; q += lanes)
          V::store(price_ + q, V::max(V::load(price_ + q), V::sub(distance, V::load(label_ + q))));
        return at;
      }
      bar_[at] = closed;
      reach_from(at);
    }
  }
  Vec key(Int q) const {
    const Vec distance = V::add(V::load(label_ + q), V::load(price_ + q));
    return V::max(V::add(V::add(distance, distance), V::load(kind_ + q)), V::load(bar_ + q));
  }

  void move_along(Int sink) {
    const Int from = via_[sink];
    if (via_[from] < 0) {
      const auto most =
          static_cast<Int>(std::min(groups_.size[from] - f_.g, f_.g - groups_.size[sink]));
      const Int loss = loss_[std::int64_t{from} * wide_ + sink];
      move(from, sink);
      if (most > 1) move_more(from, sink, loss, most - 1);
      return;
    }
    for (Int q = sink; via_[q] >= 0; q = via_[q]) move(via_[q], q);
  }
  void move_more(Int from, Int sink, Int loss, Int most) {
    for (Int i = 0; most > 0 && i < groups_.size[from];) {
      const std::uint16_t s = groups_.of(from)[i];
      const Int* scores = scores_of(s);
      if (scores[from] - scores[sink] != loss) {
        ++i;
        continue;
      }
      groups_.move(from, sink, s, pattern_of_);
      --most;
    }
    known_[sink] = 0;
  }
  void move(Int p, Int q) {
    const Int s = mover_[std::int64_t{p} * wide_ + q];
    groups_.move(p, q, static_cast<std::uint16_t>(s), pattern_of_);
    known_[p] = 0;
    if (known_[q]) add_to(q, s);
  }

  const NmgFormat& f_;
  std::uint16_t* pattern_of_;
  NmgGroups groups_;
  Int count_, rows_, cols_, padded_, stride_, wide_;
  bool stored_;
  Int *x_, *scores_, *out_, *in_, *price_, *next_price_, *label_, *via_, *bar_, *kind_;
  Int *of_pattern_, *next_of_, *loss_, *mover_;
  std::uint16_t *other_, *chosen_;
  std::uint8_t* known_;
  std::size_t used_;
};

template <class V>
struct NmgFits {
  template <int nv>
  static bool try_fit(const NmgFormat& f, const NmgStrips<float>& in, std::byte* scratch,
                      std::uint16_t* pattern_of) {
    return NmgExact<V, nv>(f, in.rows, in.cols, NmgCarver(scratch), pattern_of).run(in);
  }
  static void fit(const NmgFormat& f, const NmgStrips<float>& in, std::byte* scratch,
                  std::uint16_t* pattern_of) {
    const std::int64_t vectors = (f.count + V::lanes - 1) / V::lanes;
    const bool stored = nmg_stores_scores(f, in.cols);
    const auto try_any = !stored        ? try_fit<0>
                         : vectors == 1 ? try_fit<1>
                         : vectors == 2 ? try_fit<2>
                         : vectors == 3 ? try_fit<3>
                         : vectors == 4 ? try_fit<4>
                                        : try_fit<0>;
    if (!try_any(f, in, scratch, pattern_of)) nmg_fit_wide(f, in, scratch, pattern_of);
  }
  static std::size_t scratch(const NmgFormat& f, std::int64_t rows, std::int64_t cols) {
    const NmgExact<V, 0> fit(f, rows, cols, NmgCarver(nullptr), nullptr);
    return std::max(fit.bytes(), nmg_reference_scratch(f, rows, cols));
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
