// SPDX-License-Identifier: Apache-2.0
// The exact fit of n:m:g with a small pattern count, by a warp. It takes the decisions of
// nmg_exact.h for integer magnitudes, so it gives the same bits, and keeps frequently used state in
// registers.
//
// Thread t has the strips k * 32 + t, and thread p also has the state of pattern p.
#pragma once
#include <bit>
#include <limits>

#include "kernels/block/block.h"
#include "kernels/block/product/nmg_rows.h"
#include "kernels/nmg_exact.h"
#include "kernels/reference/nmg_groups.h"

namespace sten::kernels {

inline constexpr int max_small_pattern_count = 8;

// A format with a small pattern count, prepared for kernels.
struct NmgSmallPatternCount {
  std::int32_t n, m, count, g;
  double per_strips, per_g;  // 1 / strips, 1 / (10 g)
  std::uint8_t row[8][8];    // of each pattern, [count][n], ascending
  std::uint64_t rows;        // rows of a pattern as bits, one byte per pattern

  STEN_HOST_DEVICE std::int32_t strips() const { return count * g; }
  // For a pattern index that differs between threads, whose table lookups would be serialized.
  STEN_HOST_DEVICE std::uint32_t rows_of(std::int32_t p) const {
    return static_cast<std::uint32_t>(rows >> 8 * p) & 0xff;
  }
};

// a / b for integers |a| < 2^40 and b < 2^12, truncated; per_b is 1 / b.
STEN_HOST_DEVICE inline std::int64_t nmg_quotient(std::int64_t a, double per_b) {
  // The added half keeps the quotient away from integers, so rounding does not matter.
  const double q = (static_cast<double>(a < 0 ? -a : a) + 0.5) * per_b;
  return a < 0 ? -static_cast<std::int64_t>(q) : static_cast<std::int64_t>(q);
}

// nmg_next_price() in 32 bits without its division.
STEN_HOST_DEVICE inline std::int32_t nmg_next_price_small_pattern_count(
    std::int32_t price, std::int64_t gap, std::int32_t of_pattern, std::int32_t g, double per_g) {
  constexpr std::int64_t most = nmg_most_score<std::int32_t>;
  const std::int32_t excess = (of_pattern < 2 * g ? of_pattern : 2 * g) - g;
  const std::int64_t next = price + nmg_quotient(gap * (7 * excess), per_g);
  return static_cast<std::int32_t>(next < -most ? -most : next > most ? most : next);
}

// A score, int32_t or int64_t, above the inverted pattern index in the low bits: the greatest key
// has the greatest score, and among equal scores the lowest pattern.
template <class T>
using NmgKey = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
template <class T>
STEN_HOST_DEVICE NmgKey<T> nmg_key(T score, int p) {
  return (static_cast<NmgKey<T>>(score) << 3) +
         static_cast<NmgKey<T>>(max_small_pattern_count - 1 - p);
}

// For at most C patterns and 32 K strips. The rows of patterns are those of N:M, known at compile
// time, unless N is 0. T is the type of magnitudes, int32_t, or int64_t for chunks that need it.
template <int C, int K, class Block, int N = 0, int M = 0, class T = std::int32_t>
class NmgWarpFit {
  template <class U>
  using Shared = typename Block::template Shared<U>;
  using Int = std::int32_t;
  using Key = NmgKey<T>;

  static constexpr T infinite = std::numeric_limits<T>::max() / 16 * 5;
  static constexpr Int none = C;  // the pattern of strips of zeros and of strips after the last
  // middle: added to differences of keys to keep them nonnegative; most_finite: upper bound of
  // finite keys.
  static constexpr Key middle = Key{nmg_most_score<T>} << 3, most_finite = 2 * middle + 16;

  STEN_DEVICE static T score_of(Key key) { return static_cast<T>(key >> 3); }
  STEN_DEVICE static Int pattern_of(Key key) { return static_cast<Int>(~key & 7); }

 public:
  static constexpr int width = 32 * K;

  struct Lane {
    Key key[K][C], own[K], other[K];
    Int pattern[K];
    Int size, next_size, via;
    T price, next_price, label;
    bool is_closed;
  };
  using Lanes = typename Block::template PerThread<Lane>;

  // Between phases.
  STEN_HOST_DEVICE NmgWarpFit(Block& b, const NmgSmallPatternCount& f)
      : b_(b),
        f_(f),
        x_(b.template shared<T>(f.m * width)),
        price_(b.template shared<T>(C)),
        loss_(b.template shared<T>(C * C)),
        weight_(b.template shared<Key>(C)),
        size_(b.template shared<Int>(C)),
        via_(b.template shared<Int>(C)) {}

  // Magnitudes [m, width]; each thread writes those of its strips, with 0 after the last strip.
  STEN_DEVICE Shared<T> magnitudes() const { return x_; }

  // Writes the patterns to lanes(t).pattern. Between phases.
  STEN_DEVICE void run(Lanes& lanes) {
    const bool all = choose_first(lanes);
    known_ = 0;
    for (;;) {
      const Int sink = nearest_underfull(lanes);
      if (sink < 0) break;
      move_along(lanes, sink);
    }
    if (!all) fill_up(lanes);
  }

 private:
  // Assigns the best pattern to every strip, and none to strips of zeros. Returns whether all
  // strips have a pattern.
  STEN_DEVICE bool choose_first(Lanes& lanes) {
    b_.for_each_thread([&](int t) {
      Lane& l = lanes(t);
      find_keys(l, t);
      for (int k = 0; k < K; ++k) {
        Key most = l.key[k][0], second = 0;
        for (int p = 1; p < C; ++p) {
          const Key v = l.key[k][p], less = v < most ? v : most;
          second = less > second ? less : second;
          most = v > most ? v : most;
        }
        l.pattern[k] = score_of(most) == 0 ? none : pattern_of(most);
        l.own[k] = most;
        l.other[k] = second;
      }
    });
    count(
        lanes, [](const Lane& l, int k) { return l.pattern[k]; },
        [](Lane& l) -> Int& { return l.size; });
    b_.for_each_thread([&](int t) {
      Lane& l = lanes(t);
      l.price = 0;
      if (t < C) price_[t] = 0;
    });
    const bool all = !b_.votes([&](int t) {
      bool is_none = false;
      for (int k = 0; k < K; ++k)
        is_none |= lanes(t).pattern[k] == none && k * 32 + t < f_.strips();
      return is_none;
    });
    if constexpr (sizeof(T) == 4)
      if (all && f_.strips() >= nmg_min_priced) price(lanes);
    return all;
  }
  STEN_DEVICE void price(Lanes& lanes) {
    // As in the reference, against overflow of the sums of differences.
    int shift = 0;
    while ((f_.strips() + 15) / 16 * 2 >> shift > 8) ++shift;
    const auto gaps = [&](int t) {
      std::uint32_t sum = 0;
      for (int k = 0; k < K; ++k)
        if (lanes(t).pattern[k] != none)
          sum +=
              static_cast<std::uint32_t>(score_of(lanes(t).own[k]) - score_of(lanes(t).other[k])) >>
              shift;
      return sum;
    };
    const std::int64_t low = b_.sum([&](int t) { return gaps(t) & 0xffffu; });
    const std::int64_t high = b_.sum([&](int t) { return gaps(t) >> 16; });
    find_prices(lanes, nmg_quotient(((high << 16) + low) << shift, f_.per_strips));
  }

  // Keys of patterns from f_.count on are 0, below all others.
  STEN_DEVICE void find_keys(Lane& l, int t) {
    if constexpr (N > 0) {
      T x[M][K];
      for (int r = 0; r < M; ++r)
        for (int k = 0; k < K; ++k) x[r][k] = x_[r * width + k * 32 + t];
      each_constant<C>([&](auto p) {
        for (int k = 0; k < K; ++k) {
          T sum = 0;
          each_constant<N>([&](auto i) { sum += x[nmg_pattern_row(N, M, p, i)][k]; });
          l.key[k][p] = nmg_key<T>(sum, p);
        }
      });
    } else {
      for (int p = 0; p < C; ++p)
        for (int k = 0; k < K; ++k) l.key[k][p] = p < f_.count ? nmg_key<T>(0, p) : 0;
      STEN_UNROLL(1) for (int i = 0; i < f_.n; ++i) {
        for (int p = 0; p < C; ++p)
          if (p < f_.count)
            for (int k = 0; k < K; ++k)
              l.key[k][p] += static_cast<Key>(T{x_[f_.row[p][i] * width + k * 32 + t]}) << 3;
      }
    }
  }

  // Counts the strips of each pattern: to(lane of the pattern).
  template <class Of, class To>
  STEN_DEVICE void count(Lanes& lanes, const Of& of, const To& to) {
    // Four counts, each at most 128, in a word.
    const auto in_words = [&](int t, Int first) {
      std::uint32_t word = 0;
      for (int k = 0; k < K; ++k)
        if (const Int p = of(lanes(t), k) - first; p >= 0 && p < 4)
          word += std::uint32_t{1} << 8 * p;
      return word;
    };
    const std::uint32_t low = b_.sum([&](int t) { return in_words(t, 0); });
    std::uint32_t high = 0;
    if constexpr (C > 4) high = b_.sum([&](int t) { return in_words(t, 4); });
    b_.for_each_thread([&](int t) {
      const std::uint32_t word = C > 4 && t >= 4 ? high : low;
      // Patterns from f_.count on are neither overfull nor underfull.
      to(lanes(t)) = t < f_.count ? static_cast<Int>(word >> 8 * (t & 3) & 0xff) : f_.g;
    });
  }

  template <class Of>
  STEN_DEVICE Int overflow(Lanes& lanes, const Of& of) {
    return b_.sum([&](int t) {
      const Int more = of(lanes(t)) - f_.g;
      return more > 0 ? more : 0;
    });
  }

  STEN_DEVICE void find_prices(Lanes& lanes, std::int64_t gap) {
    Int before = overflow(lanes, [](const Lane& l) { return l.size; });
    STEN_UNROLL(1) for (int step = 0; step < nmg_price_steps && before != 0; ++step) {
      b_.for_each_thread([&](int t) {
        if (t >= C) return;
        Lane& l = lanes(t);
        l.next_price = nmg_next_price_small_pattern_count(l.price, gap, l.size, f_.g, f_.per_g);
        // Patterns from f_.count on stay below all others.
        const Key price = static_cast<Key>(l.next_price) << 3;
        weight_[t] = t < f_.count ? middle - price : 0;
      });
      b_.for_each_thread([&](int t) {
        Lane& l = lanes(t);
        for (int k = 0; k < K; ++k) l.other[k] = 0;
        for (int p = 0; p < C; ++p) {
          const Key weight = weight_[p];
          for (int k = 0; k < K; ++k) {
            const Key v = l.key[k][p] + weight;
            l.other[k] = v > l.other[k] ? v : l.other[k];
          }
        }
      });
      count(
          lanes,
          [](const Lane& l, int k) { return l.pattern[k] == none ? none : pattern_of(l.other[k]); },
          [](Lane& l) -> Int& { return l.next_size; });
      const Int after = overflow(lanes, [](const Lane& l) { return l.next_size; });
      if (after >= before) return;
      before = after;
      b_.for_each_thread([&](int t) {
        Lane& l = lanes(t);
        l.price = l.next_price;
        if (t < C) price_[t] = l.price;
        l.size = l.next_size;
        for (int k = 0; k < K; ++k) {
          if (l.pattern[k] == none) continue;
          l.pattern[k] = pattern_of(l.other[k]);
          l.own[k] = l.other[k] - weight_[l.pattern[k]];
        }
      });
    }
  }

  struct From {
    Key key[K];
  };
  // Computes loss(p, q), the least that a strip of p loses by moving to q.
  STEN_DEVICE void look_at(Lanes& lanes, Int p) {
    auto from = b_.template per_thread<From>();
    b_.for_each_thread([&](int t) {
      const Lane& l = lanes(t);
      for (int k = 0; k < K; ++k)
        from(t).key[k] = l.pattern[k] == p ? (l.own[k] | 7) + middle : ~Key{0};
    });
    T row[C];
    for (int q = 0; q < C; ++q) {
      // The key is 8 times the loss plus q; the shift drops q.
      const Key found = b_.least([&](int t) {
        Key least = ~Key{0};
        for (int k = 0; k < K; ++k) {
          const Key v = from(t).key[k] - lanes(t).key[k][q];
          least = v < least ? v : least;
        }
        return least;
      });
      row[q] = found > most_finite ? infinite : static_cast<T>(found - middle) >> 3;
    }
    b_.for_each_thread([&](int t) {
      if (t != 0) return;
      for (int q = 0; q < C; ++q) loss_[p * C + q] = row[q];
    });
    known_ |= 1u << p;
  }
  // Relaxes the edges from p, whose label is final.
  STEN_DEVICE void reach_from(Lanes& lanes, Int p, T label) {
    if (!(known_ >> p & 1)) look_at(lanes, p);
    b_.for_each_thread([&](int t) {
      Lane& l = lanes(t);
      if (t >= C || l.is_closed) return;
      if (const T v = label + loss_[p * C + t]; v < l.label) {
        l.label = v;
        l.via = p;
      }
    });
  }

  // Dijkstra's algorithm from all overfull patterns; returns -1 if no pattern is overfull.
  STEN_DEVICE Int nearest_underfull(Lanes& lanes) {
    std::uint32_t over = b_.votes([&](int t) { return lanes(t).size > f_.g && t < C; });
    if (over == 0) return -1;
    b_.for_each_thread([&](int t) {
      Lane& l = lanes(t);
      const bool is_over = over >> t & 1;
      l.is_closed = is_over || t >= f_.count;
      l.label = is_over ? -l.price : infinite;
      l.via = -1;
    });
    for (; over != 0; over &= over - 1) {
      const Int p = lowest_bit(over);
      reach_from(lanes, p, -b_.read(price_, p));
    }
    for (;;) {
      const auto distance = [&](int t) {
        const Lane& l = lanes(t);
        return l.is_closed ? std::numeric_limits<T>::max() : l.label + l.price;
      };
      const T least = b_.least(distance);
      // At the same distance underfull patterns come first, then the lowest.
      const std::uint32_t near = b_.votes([&](int t) { return distance(t) == least; });
      const std::uint32_t open =
          b_.votes([&](int t) { return distance(t) == least && lanes(t).size < f_.g; });
      if (open != 0) {
        b_.for_each_thread([&](int t) {
          Lane& l = lanes(t);
          if (t >= f_.count) return;
          if (const T v = least - l.label; v > l.price) l.price = v;
          price_[t] = l.price;
          via_[t] = l.via;
          size_[t] = l.size;
        });
        return lowest_bit(open);
      }
      const Int p = lowest_bit(near);
      b_.for_each_thread([&](int t) {
        if (t == p) lanes(t).is_closed = true;
      });
      reach_from(lanes, p, least - b_.read(price_, p));
    }
  }

  // Moves strips along the path to `sink` as the reference does, the lowest first among equals.
  STEN_DEVICE void move_along(Lanes& lanes, Int sink) {
    Int from = b_.read(via_, sink);
    if (b_.read(via_, from) < 0) {
      const Int over = b_.read(size_, from) - f_.g, under = f_.g - b_.read(size_, sink);
      move(lanes, from, sink, over < under ? over : under);
      return;
    }
    for (Int to = sink; from >= 0; to = from, from = b_.read(via_, to)) move(lanes, from, to, 1);
  }
  // Moves up to `most` strips with the least loss, the lowest first.
  STEN_DEVICE void move(Lanes& lanes, Int p, Int q, Int most) {
    const T loss = b_.read(loss_, p * C + q);
    Int left = most;
    for (int k = 0; k < K; ++k) {
      const auto score = [&](int t) {
        T sum = 0;
        STEN_UNROLL(1) for (int i = 0; i < f_.n; ++i) sum += x_[f_.row[q][i] * width + k * 32 + t];
        return sum;
      };
      const std::uint32_t movers = b_.votes([&](int t) {
        const Lane& l = lanes(t);
        return l.pattern[k] == p && score_of(l.own[k]) - score(t) == loss;
      });
      if (movers == 0) continue;
      b_.for_each_thread([&](int t) {
        Lane& l = lanes(t);
        const std::uint32_t before = movers & ((std::uint32_t{1} << t) - 1);
        if (!(movers >> t & 1) || std::popcount(before) >= left) return;
        l.pattern[k] = q;
        l.own[k] = nmg_key<T>(score(t), q);
      });
      const Int found = std::popcount(movers);
      left -= found < left ? found : left;
      if (left == 0) break;
    }
    const Int moved = most - left;
    b_.for_each_thread([&](int t) {
      Lane& l = lanes(t);
      if (t == p) l.size -= moved;
      if (t == q) l.size += moved;
    });
    known_ &= ~(1u << p | 1u << q);
  }

  // As NmgGroups::fill_up().
  STEN_DEVICE void fill_up(Lanes& lanes) {
    b_.for_each_thread([&](int t) {
      if (t < C) size_[t] = lanes(t).size;
    });
    Int before = 0;
    for (int k = 0; k < K; ++k) {
      const auto is_none = [&](int t) {
        return lanes(t).pattern[k] == none && k * 32 + t < f_.strips();
      };
      const std::uint32_t free = b_.votes(is_none);
      b_.for_each_thread([&](int t) {
        if (!is_none(t)) return;
        Int rank = before + std::popcount(free & ((std::uint32_t{1} << t) - 1)), p = 0;
        while (rank >= f_.g - size_[p]) rank -= f_.g - size_[p++];
        lanes(t).pattern[k] = p;
      });
      before += std::popcount(free);
    }
  }

  Block& b_;
  const NmgSmallPatternCount& f_;
  Shared<T> x_, price_, loss_;
  Shared<Key> weight_;
  Shared<Int> size_, via_;
  std::uint32_t known_ = 0;  // patterns with valid losses
};

}  // namespace sten::kernels
