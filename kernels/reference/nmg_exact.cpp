// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/nmg_exact.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/reference/nmg_groups.h"

namespace sten::kernels {
namespace {

// The matching for integer magnitudes of type T, int32_t or int64_t.
template <class T>
class Solver {
  static constexpr bool is_wide = sizeof(T) == 8;

 public:
  Solver(const NmgFormat& f, std::int64_t rows, std::int64_t cols, NmgCarver carve,
         std::uint16_t* pattern_of)
      : f_(f), rows_(rows), cols_(cols), pattern_of_(pattern_of), groups_(f, carve) {
    const std::int64_t c = f.count;
    x_ = carve.take<T>((rows + 1) * cols);
    scores_ = carve.take<T>(nmg_stores_scores(f, cols) ? cols * c : c);
    other_ = carve.take<std::uint16_t>(cols);
    price_ = carve.take<T>(c);
    next_price_ = carve.take<T>(c);
    label_ = carve.take<T>(c);
    of_pattern_ = carve.take<std::int32_t>(c);
    next_of_ = carve.take<std::int32_t>(c);
    via_ = carve.take<std::int32_t>(c);
    known_ = carve.take<std::uint8_t>(c);
    closed_ = carve.take<std::uint8_t>(c);
    loss_ = carve.take<T>(c * c);
    mover_ = carve.take<std::uint16_t>(c * c);
    used_ = carve.used();
  }
  std::size_t bytes() const { return used_; }
  // Magnitudes [rows, cols], to be written before run(); a row of zeros follows.
  T* magnitudes() { return x_; }

  void run() {
    std::fill_n(x_ + rows_ * cols_, cols_, T{0});
    add_up();
    const Choices first = choose_first();
    const bool full = first.strips == f_.strips() && f_.strips() >= nmg_min_priced;
    if (full && sizeof(T) == 4) find_prices(first.gap);
    groups_.build(pattern_of_, cols_, of_pattern_);
    std::fill_n(known_, f_.count, std::uint8_t{0});
    for (std::int64_t sink; (sink = nearest_underfull()) >= 0;) move_along(sink);
    groups_.fill_up(pattern_of_, cols_);
  }

 private:
  static constexpr T infinite = std::numeric_limits<T>::max() / 16 * 5;

  void add_up(std::int64_t s, T* scores) const {
    for (std::int64_t p = 0; p < f_.count; ++p) {
      T sum = 0;
      for (std::int64_t i = 0; i < f_.n; ++i)
        sum += x_[std::min<std::int64_t>(f_.patterns[p * f_.n + i], rows_) * cols_ + s];
      scores[p] = sum;
    }
  }
  void add_up() {
    if (nmg_stores_scores(f_, cols_))
      for (std::int64_t s = 0; s < cols_; ++s) add_up(s, scores_ + s * f_.count);
  }
  // Scores [count] of strip s, valid until the next call.
  const T* scores_of(std::int64_t s) const {
    if (nmg_stores_scores(f_, cols_)) return scores_ + s * f_.count;
    add_up(s, scores_);
    return scores_;
  }

  struct Choices {
    std::int64_t strips, gap;  // number of strips; mean difference of best and second best score
  };
  // Assigns the best pattern to every strip, and none to strips of zeros.
  Choices choose_first() {
    // The vector kernels shift so that the sums of 8 lanes of 32 bits do not overflow, and 32-bit
    // results have to agree with theirs. Nothing is vectorized in 64 bits.
    int shift = 0;
    while (!is_wide && (cols_ + 15) / 16 * 2 >> shift > 8) ++shift;
    std::conditional_t<is_wide, double, std::int64_t> sum = 0;
    std::int64_t chosen = 0;
    std::fill_n(price_, f_.count, T{0});
    std::fill_n(of_pattern_, f_.count, 0);
    for (std::int64_t s = 0; s < cols_; ++s) {
      const T* score = scores_of(s);
      std::int64_t best = 0;
      T second = -1;
      for (std::int64_t p = 1; p < f_.count; ++p) {
        second = std::max(second, std::min(score[p], score[best]));
        if (score[p] > score[best]) best = p;
      }
      pattern_of_[s] = static_cast<std::uint16_t>(score[best] == 0 ? f_.count : best);
      if (score[best] == 0) continue;
      ++chosen;
      ++of_pattern_[best];
      sum += (score[best] - second) >> shift;
    }
    if (chosen == 0) return {0, 0};
    if constexpr (is_wide)
      return {chosen, static_cast<std::int64_t>(sum / static_cast<double>(chosen))};
    else
      return {chosen, (sum << shift) / chosen};
  }

  void find_prices(std::int64_t gap) {
    for (int step = 0; step < nmg_price_steps; ++step) {
      const std::int64_t overflow = nmg_overflow(of_pattern_, f_.count, f_.g);
      if (overflow == 0) return;
      nmg_next_prices<T>(price_, gap, of_pattern_, f_.count, f_.g, next_price_);
      choose(next_price_);
      if (nmg_overflow(next_of_, f_.count, f_.g) >= overflow) return;
      std::swap(price_, next_price_);
      std::swap(of_pattern_, next_of_);
      std::copy_n(other_, cols_, pattern_of_);
    }
  }

  // Assigns to every strip the best pattern under these prices.
  void choose(const T* price) {
    std::fill_n(next_of_, f_.count, 0);
    for (std::int64_t s = 0; s < cols_; ++s) {
      other_[s] = pattern_of_[s];
      if (pattern_of_[s] == f_.count) continue;
      const T* score = scores_of(s);
      std::int64_t best = 0;
      for (std::int64_t p = 1; p < f_.count; ++p)
        if (score[p] - price[p] > score[best] - price[best]) best = p;
      other_[s] = static_cast<std::uint16_t>(best);
      ++next_of_[best];
    }
  }

  // Computes loss(p, q), the least that a strip of p loses by moving to q, and mover(p, q), this
  // strip.
  void look_at(std::int64_t p) {
    if (known_[p]) return;
    known_[p] = 1;
    T* loss = loss_ + p * f_.count;
    std::uint16_t* mover = mover_ + p * f_.count;
    std::fill_n(loss, f_.count, infinite);
    for (std::int32_t i = 0; i < groups_.size[p]; ++i) {
      const std::uint16_t s = groups_.of(p)[i];
      const T* score = scores_of(s);
      for (std::int64_t q = 0; q < f_.count; ++q)
        if (score[p] - score[q] < loss[q]) {
          loss[q] = score[p] - score[q];
          mover[q] = s;
        }
    }
  }

  // Dijkstra's algorithm from all overfull patterns. The distance to q is label(q) + price(q);
  // prices keep the lengths of edges, loss(p, q) - price(p) + price(q), nonnegative. Returns the
  // nearest underfull pattern; -1 if no pattern is overfull.
  std::int64_t nearest_underfull() {
    bool any = false;
    for (std::int64_t p = 0; p < f_.count; ++p) {
      closed_[p] = groups_.size[p] > f_.g;
      label_[p] = closed_[p] ? -price_[p] : infinite;
      via_[p] = -1;
      any |= closed_[p];
    }
    if (!any) return -1;
    for (std::int64_t p = 0; p < f_.count; ++p)
      if (closed_[p]) reach_from(p);
    for (;;) {
      std::int64_t nearest = -1;
      for (std::int64_t q = 0; q < f_.count; ++q)
        if (!closed_[q] && (nearest < 0 || before(q, nearest))) nearest = q;
      if (groups_.size[nearest] < f_.g) {
        const T distance = label_[nearest] + price_[nearest];
        for (std::int64_t q = 0; q < f_.count; ++q)
          price_[q] = std::max(price_[q], distance - label_[q]);
        return nearest;
      }
      closed_[nearest] = 1;
      reach_from(nearest);
    }
  }
  bool before(std::int64_t q, std::int64_t r) const {
    const T a = label_[q] + price_[q], b = label_[r] + price_[r];
    if (a != b) return a < b;
    return groups_.size[q] < f_.g && groups_.size[r] >= f_.g;
  }
  void reach_from(std::int64_t p) {
    look_at(p);
    for (std::int64_t q = 0; q < f_.count; ++q)
      if (label_[p] + loss_[p * f_.count + q] < label_[q]) {
        label_[q] = label_[p] + loss_[p * f_.count + q];
        via_[q] = static_cast<std::int32_t>(p);
      }
  }

  // Moves one strip along each edge of the path to `sink`. Along a path of one edge, moves all
  // strips with the same loss, as long as the patterns remain overfull and underfull.
  void move_along(std::int64_t sink) {
    const std::int64_t from = via_[sink];
    if (via_[from] < 0) {
      const std::int64_t most = std::min(groups_.size[from] - f_.g, f_.g - groups_.size[sink]);
      const T loss = loss_[from * f_.count + sink];
      move(from, sink);
      for (std::int64_t i = 0, moved = 1; moved < most && i < groups_.size[from];) {
        const std::uint16_t s = groups_.of(from)[i];
        const T* score = scores_of(s);
        if (score[from] - score[sink] != loss) {
          ++i;
          continue;
        }
        groups_.move(from, sink, s, pattern_of_);
        ++moved;
      }
      return;
    }
    for (std::int64_t q = sink; via_[q] >= 0; q = via_[q]) move(via_[q], q);
  }
  void move(std::int64_t p, std::int64_t q) {
    groups_.move(p, q, mover_[p * f_.count + q], pattern_of_);
    known_[p] = known_[q] = 0;
  }

  const NmgFormat& f_;
  std::int64_t rows_, cols_;
  std::uint16_t* pattern_of_;
  std::uint16_t* other_;
  NmgGroups groups_;
  T *x_, *scores_, *price_, *next_price_, *label_, *loss_;
  std::uint16_t* mover_;
  std::int32_t *of_pattern_, *next_of_, *via_;
  std::uint8_t *known_, *closed_;
  std::size_t used_;
};

// |x|, with NaN as infinity.
template <class T>
double magnitude(T x) {
  return std::isnan(x) ? std::numeric_limits<double>::infinity() : std::abs(double{x});
}

template <class T, class F>
void each_magnitude(const NmgStrips<T>& in, F&& visit) {
  for (std::int64_t r = 0; r < in.rows; ++r)
    for (std::int64_t s = 0; s < in.cols; ++s) visit(magnitude(in.x[r * in.row_stride + s]));
}

template <class T>
void fit_wide(const NmgFormat& f, const NmgStrips<T>& in, std::byte* scratch,
              std::uint16_t* pattern_of) {
  double greatest = 0;
  bool infinite = false;
  each_magnitude(in, [&](double v) {
    if (std::isinf(v))
      infinite = true;
    else
      greatest = std::max(greatest, v);
  });
  const NmgWideScale scale(greatest, infinite, f.n, f.count);
  Solver<std::int64_t> solver(f, in.rows, in.cols, NmgCarver(scratch), pattern_of);
  std::int64_t* to = solver.magnitudes();
  each_magnitude(in, [&](double v) { *to++ = scale(v); });
  solver.run();
}

// Uses 32 bits if no value is lost.
void fit_f32(const NmgFormat& f, const NmgStrips<float>& in, std::byte* scratch,
             std::uint16_t* pattern_of) {
  double greatest = 0, least = std::numeric_limits<double>::infinity();
  each_magnitude(in, [&](double v) {
    greatest = std::max(greatest, v);
    if (v > 0) least = std::min(least, v);
  });
  const NmgRange range = NmgRange::of(static_cast<float>(greatest), static_cast<float>(least), f.n);
  if (range.is_wide) return fit_wide(f, in, scratch, pattern_of);
  Solver<std::int32_t> solver(f, in.rows, in.cols, NmgCarver(scratch), pattern_of);
  std::int32_t* to = solver.magnitudes();
  each_magnitude(in, [&](double v) {
    *to++ = static_cast<std::int32_t>(std::lrint(v * double{range.scale}));
  });
  solver.run();
}

constexpr NmgExactTable table{nmg_exact_wide_scratch, fit_f32, fit_wide<double>};

}  // namespace

const NmgExactTable* nmg_exact_reference() { return &table; }

void nmg_exact_wide(const NmgFormat& f, const NmgStrips<float>& in, std::byte* scratch,
                    std::uint16_t* pattern_of) {
  fit_wide(f, in, scratch, pattern_of);
}
void nmg_exact_wide(const NmgFormat& f, const NmgStrips<double>& in, std::byte* scratch,
                    std::uint16_t* pattern_of) {
  fit_wide(f, in, scratch, pattern_of);
}

std::size_t nmg_exact_wide_scratch(const NmgFormat& f, std::int64_t rows, std::int64_t cols) {
  return Solver<std::int64_t>(f, rows, cols, NmgCarver(nullptr), nullptr).bytes();
}

}  // namespace sten::kernels
