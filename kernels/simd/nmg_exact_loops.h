// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/nmg_exact.h. Compiled once per ISA, for the includer's STEN_TARGET. Steps,
// their order and their names are those of the reference.
//
// Scores have two orders: the first choice compares vectors of strips, pattern by pattern, and
// recomputes sums each time (one row less, one row more); losses compare vectors of patterns, strip
// by strip, from a transposed copy.
#pragma once
#include <bit>
#include <limits>

#include "kernels/simd/nmg_exact_first.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// nv: vectors for one value per pattern; 0 if known only at run time.
template <class V, int nv>
class NmgExact : NmgFirstChoice<V> {
  using First = NmgFirstChoice<V>;
  using First::chosen_;
  using First::cols_;
  using First::count_;
  using First::f_;
  using First::lanes;
  using First::of_pattern_;
  using First::price_;
  using First::scores_;
  using First::stored_;
  using First::stride_;
  using First::wide_;
  using typename First::Int;
  using typename First::Vec;

 public:
  NmgExact(const NmgFormat& f, std::int64_t rows, std::int64_t cols, NmgCarver carve,
           std::uint16_t* pattern_of)
      : First(f, rows, cols, carve), pattern_of_(pattern_of), groups_(f, carve) {
    label_ = carve.take<Int>(wide_);
    via_ = carve.take<Int>(wide_);
    bar_ = carve.take<Int>(wide_);
    kind_ = carve.take<Int>(wide_);
    known_ = carve.take<std::uint8_t>(count_);
    loss_ = carve.take<Int>(std::int64_t{count_} * wide_);
    mover_ = carve.take<Int>(std::int64_t{count_} * wide_);
    used_ = carve.used();
  }
  std::size_t bytes() const { return used_; }

  // Returns false if the magnitudes do not fit in 32 bits.
  bool run(const NmgStrips<float>& in) {
    if (!this->read(in)) return false;
    const auto first = this->choose_first();
    if (first.strips == f_.strips() && first.strips >= nmg_min_priced) this->find_prices(first.gap);
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
  static constexpr Int infinite = std::numeric_limits<Int>::max() / 16 * 5;
  Int vectors() const { return nv > 0 ? nv : (count_ + lanes - 1) / lanes; }

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

  // Adds strip s, which moved to p, to the losses of p; among equals the lowest strip moves.
  void add_to(Int p, Int strip) {
    const Int* scores = this->scores_of(strip);
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
    // kind: 0 if underfull. bar: greater than any distance if closed.
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
      // By distance, then underfull patterns first, then the lowest.
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
      const Int* scores = this->scores_of(s);
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

  std::uint16_t* pattern_of_;
  NmgGroups groups_;
  Int *label_, *via_, *bar_, *kind_, *loss_, *mover_;
  std::uint8_t* known_;
  std::size_t used_;
};

template <class V>
struct NmgExactFits {
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
    if (!try_any(f, in, scratch, pattern_of)) nmg_exact_wide(f, in, scratch, pattern_of);
  }
  static std::size_t scratch(const NmgFormat& f, std::int64_t rows, std::int64_t cols) {
    const NmgExact<V, 0> fit(f, rows, cols, NmgCarver(nullptr), nullptr);
    return std::max(fit.bytes(), nmg_exact_wide_scratch(f, rows, cols));
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
