// SPDX-License-Identifier: Apache-2.0
// The fit of n:m:g by swaps (section 5.2 of the paper, the method for GPUs), by a block of threads:
// strips exchange patterns until no exchange keeps more. It needs no table of patterns by patterns.
//
// First, pairs of strips swap: for each pattern in turn, the swap with the greatest gain. Then
// cycles of any length swap: labels of patterns, relaxed by the gains of moves, converge if and
// only if no cycle has a gain (Bellman-Ford). The result therefore keeps the maximum, as the exact
// fit does with the same integer magnitudes; among assignments that keep the same, it can be
// another one.
#pragma once
#include <type_traits>

#include "kernels/block/nmg/nmg_exact_chunk.h"

namespace sten::kernels {

// T is int32_t, or int64_t for chunks that need it.
template <class T, class Block>
class NmgSwapsBlock {
  template <class U>
  using Shared = typename Block::template Shared<U>;
  using Strip = std::uint16_t;
  // Sum along a path, which can have as many edges as there are patterns.
  using Label = std::conditional_t<sizeof(T) == 4, std::int64_t, __int128>;
  static constexpr Strip none = 0xffff;

  struct Swap {
    T gain;
    std::int32_t pattern, mine, other;  // slots whose strips swap
  };

 public:
  // is_stored: keeps magnitudes in shared memory; otherwise they are decoded each time.
  STEN_HOST_DEVICE NmgSwapsBlock(Block& block, const NmgFormat& format, std::int64_t rows,
                                 std::int64_t cols, bool is_stored, Shared<Strip> pattern_of)
      : b_(block),
        f_(format),
        rows_(rows),
        cols_(cols),
        is_stored_(is_stored),
        pattern_of_(pattern_of) {
    const std::int64_t c = f_.count;
    x_ = b_.template shared<T>(is_stored ? rows * cols : 1);
    strips_ = b_.template shared<Strip>(f_.strips());
    size_ = b_.template shared<std::int32_t>(c);
    via_ = b_.template shared<std::int32_t>(c);
    label_ = b_.template shared<Label>(c);
    next_ = b_.template shared<Label>(c);
    swaps_ = b_.template shared<Swap>(b_.threads());
    found_ = b_.template shared<std::int32_t>(b_.threads());
  }

  // count(r, s) is the integer magnitude. Between phases.
  template <class Count>
  STEN_DEVICE void run(const NmgBlockChunk& in, const Count& count) {
    if (is_stored_) {
      b_.for_each_thread([&](int t) {
        in.each(b_, t, [&](std::int64_t r, std::int64_t s) { x_[r * cols_ + s] = count(r, s); });
      });
      run([&](std::int64_t r, std::int64_t s) { return T{x_[r * cols_ + s]}; });
    } else {
      run([&](std::int64_t r, std::int64_t s) { return T{count(r, s)}; });
    }
  }

 private:
  template <class Value>
  STEN_DEVICE void run(const Value& value) {
    const auto score = [&](std::int64_t s, std::int64_t p) {
      T sum = 0;
      if (s >= cols_) return sum;
      for (std::int64_t i = 0; i < f_.n; ++i) {
        const std::int64_t r = f_.patterns[p * f_.n + i];
        if (r < rows_) sum += value(r, s);
      }
      return sum;
    };
    begin(score);
    swap_pairs(score);
    rotate_cycles(score);
    // Strips of padding, which are all alike, fill the remaining slots in ascending order, as in
    // every fit.
    b_.for_each_thread([&](int t) {
      if (t != 0) return;
      std::int64_t next = cols_;
      for (std::int64_t i = 0; i < f_.strips() && next < f_.strips(); ++i)
        if (strips_[i] >= cols_) strips_[i] = static_cast<Strip>(next++);
    });
    b_.for_each_thread([&](int t) {
      each_pair(b_, t, f_.count, f_.g, [&](std::int64_t p, std::int64_t j) {
        pattern_of_[strips_[p * f_.g + j]] = static_cast<Strip>(p);
      });
    });
  }

  // Each pattern starts with the lowest strips whose best pattern it is; the remaining strips, and
  // strips of zeros, start where there is room.
  template <class Score>
  STEN_DEVICE void begin(const Score& score) {
    b_.for_each_thread([&](int t) {
      each_of(b_, t, f_.strips(), [&](std::int64_t s) {
        Strip best = none;
        T most = 0;
        for (std::int64_t p = 0; p < f_.count; ++p)
          if (const T v = score(s, p); v > most) {
            most = v;
            best = static_cast<Strip>(p);
          }
        pattern_of_[s] = best;
      });
    });
    b_.for_each_thread(
        [&](int t) { each_of(b_, t, f_.count, [&](std::int64_t p) { size_[p] = 0; }); });
    b_.for_each_thread([&](int t) {
      if (t != 0) return;
      for (std::int64_t s = 0; s < f_.strips(); ++s) {
        const Strip p = pattern_of_[s];
        if (p != none && size_[p] < f_.g)
          put(s, p);
        else
          pattern_of_[s] = none;
      }
      std::int64_t p = 0;
      for (std::int64_t s = 0; s < f_.strips(); ++s) {
        if (pattern_of_[s] != none) continue;
        while (size_[p] == f_.g) ++p;
        put(s, p);
      }
    });
  }
  STEN_DEVICE void put(std::int64_t s, std::int64_t p) {
    strips_[p * f_.g + size_[p]] = static_cast<Strip>(s);
    size_[p] = size_[p] + 1;
  }

  template <class Score>
  STEN_DEVICE void swap_pairs(const Score& score) {
    for (std::int64_t p = 0, settled = 0; settled < f_.count; p = (p + 1) % f_.count) {
      for (++settled;; settled = 0) {
        const Swap best = best_swap(p, score);
        if (best.gain <= 0) break;
        b_.for_each_thread([&](int t) {
          if (t != 0) return;
          const Strip s = strips_[best.mine];
          strips_[best.mine] = Strip{strips_[best.other]};
          strips_[best.other] = s;
        });
      }
    }
  }
  // The best swap of a strip of p with a strip of another pattern; among equal swaps the lowest.
  template <class Score>
  STEN_DEVICE Swap best_swap(std::int64_t p, const Score& score) {
    // The greatest gain of moving a strip from pattern `from` to `to`, and its slot.
    const auto most = [&](std::int64_t from, std::int64_t to, std::int32_t& slot) {
      T gain = std::numeric_limits<T>::min();
      for (std::int64_t i = from * f_.g; i < (from + 1) * f_.g; ++i) {
        const std::int64_t s = strips_[i];
        if (const T v = score(s, to) - score(s, from); v > gain) {
          gain = v;
          slot = static_cast<std::int32_t>(i);
        }
      }
      return gain;
    };
    const auto better = [](const Swap& a, const Swap& b) {
      return a.gain != b.gain ? a.gain > b.gain : a.pattern < b.pattern;
    };
    const auto of_thread = [&](int t) {
      Swap best{0, std::numeric_limits<std::int32_t>::max(), 0, 0};
      each_of(b_, t, f_.count, [&](std::int64_t q) {
        if (q == p) return;
        Swap swap{0, static_cast<std::int32_t>(q), 0, 0};
        swap.gain = most(p, q, swap.mine);
        swap.gain += most(q, p, swap.other);
        if (better(swap, best)) best = swap;
      });
      return best;
    };
    return reduce<Swap>(b_, swaps_, of_thread,
                        [&](const Swap& a, const Swap& b) { return better(b, a) ? b : a; });
  }

  template <class Score>
  STEN_DEVICE void rotate_cycles(const Score& score) {
    b_.for_each_thread([&](int t) {
      each_of(b_, t, f_.count, [&](std::int64_t q) {
        label_[q] = 0;
        via_[q] = -1;
      });
    });
    while (lower_labels(score)) {
      b_.for_each_thread([&](int t) {
        each_of(b_, t, f_.count, [&](std::int64_t q) { label_[q] = Label{next_[q]}; });
        if (t == 0) found_[0] = rotate_found();
      });
      if (b_.read(found_, 0) == 0) continue;
      b_.for_each_thread(
          [&](int t) { each_of(b_, t, f_.count, [&](std::int64_t q) { via_[q] = -1; }); });
    }
  }
  // One relaxation. via: the slot whose strip lowered a label last.
  template <class Score>
  STEN_DEVICE bool lower_labels(const Score& score) {
    const auto of_thread = [&](int t) {
      std::int32_t any = 0;
      each_of(b_, t, f_.count, [&](std::int64_t q) {
        Label least = label_[q];
        std::int32_t via = -1;
        for (std::int64_t p = 0, i = 0; p < f_.count; ++p) {
          const Label label = label_[p];
          for (std::int64_t end = i + f_.g; i < end; ++i) {
            const std::int64_t s = strips_[i];
            if (const Label v = label - (score(s, q) - score(s, p)); v < least) {
              least = v;
              via = static_cast<std::int32_t>(i);
            }
          }
        }
        next_[q] = least;
        if (via >= 0) {
          via_[q] = via;
          any = 1;
        }
      });
      return any;
    };
    return reduce<std::int32_t>(b_, found_, of_thread,
                                [](std::int32_t a, std::int32_t b) { return a | b; }) != 0;
  }
  // Within a phase, by one thread: applies the cycles in `via`, each of which has a gain. Cycles do
  // not share patterns.
  STEN_DEVICE std::int32_t rotate_found() {
    std::int32_t any = 0;
    for (std::int64_t q = 0; q < f_.count; ++q) size_[q] = 0;  // index of the walk that visited it
    for (std::int32_t q = 0; q < f_.count; ++q) {
      std::int64_t at = q;
      for (; size_[at] == 0; at = via_[at] / f_.g) {
        size_[at] = q + 1;
        if (via_[at] < 0) break;
      }
      if (via_[at] < 0 || size_[at] != q + 1) continue;
      any = 1;
      const Strip first = strips_[via_[at]];
      for (std::int64_t to = at, from = via_[to] / f_.g;; to = from, from = via_[to] / f_.g) {
        if (from == at) {
          strips_[via_[to]] = first;
          break;
        }
        strips_[via_[to]] = Strip{strips_[via_[from]]};
      }
    }
    return any;
  }

  Block& b_;
  const NmgFormat& f_;
  const std::int64_t rows_, cols_;
  const bool is_stored_;
  Shared<T> x_;
  Shared<Strip> pattern_of_, strips_;
  Shared<std::int32_t> size_, via_, found_;
  Shared<Label> label_, next_;
  Shared<Swap> swaps_;
};

// Computes the pattern of each strip of the chunk, [strips], as FitMethod::swaps does. Between
// phases.
template <class Block>
class NmgSwapsChunk {
  template <class U>
  using Shared = typename Block::template Shared<U>;

 public:
  STEN_HOST_DEVICE NmgSwapsChunk(Block& b, const NmgFormat& f, bool is_stored)
      : b_(b),
        f_(f),
        is_stored_(is_stored),
        pattern_of_(b.template shared<std::uint16_t>(f.strips())),
        scratch_(b.template shared<double>(b.threads())) {}

  STEN_DEVICE Shared<std::uint16_t> fit(const NmgBlockChunk& in) {
    nmg_with_counts(b_, f_, in, scratch_, [&]<class T, class Count>(T, const Count& count) {
      NmgSwapsBlock<T, Block>(b_, f_, in.rows, in.cols, is_stored_, pattern_of_).run(in, count);
    });
    return pattern_of_;
  }

 private:
  Block& b_;
  const NmgFormat& f_;
  const bool is_stored_;
  Shared<std::uint16_t> pattern_of_;
  Shared<double> scratch_;
};

// Counts the shared memory of NmgSwapsChunk.
inline void nmg_swaps_shared(CountingBlock& count, const NmgFormat& f, bool is_stored) {
  const NmgSwapsChunk<CountingBlock> chunk(count, f, is_stored);
  const NmgSwapsBlock<std::int64_t, CountingBlock> wide(count, f, f.m, f.strips(), is_stored,
                                                        nullptr);
}

}  // namespace sten::kernels
