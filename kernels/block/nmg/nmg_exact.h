// SPDX-License-Identifier: Apache-2.0
// The exact fit of kernels/nmg_exact.h for integer magnitudes, by a block of threads. It takes the
// decisions of kernels/reference/nmg_exact.cpp, which explains them, and gives the same bits.
#pragma once
#include <limits>

#include "kernels/block/block.h"
#include "kernels/nmg_exact.h"
#include "kernels/reference/nmg_groups.h"

namespace sten::kernels {

// T is int32_t, or int64_t for chunks that need it.
template <class T, class Block>
class NmgExactBlock {
  template <class U>
  using Shared = typename Block::template Shared<U>;
  using Strip = std::uint16_t;
  using Sum = unsigned long long;  // the type of CUDA's 64-bit atomics

  static constexpr T infinite = std::numeric_limits<T>::max() / 16 * 5;

 public:
  // For `cols` strips of `rows` values. pattern_of [strips] is the result. Between phases.
  STEN_HOST_DEVICE NmgExactBlock(Block& block, const NmgFormat& format, std::int64_t rows,
                                 std::int64_t cols, Shared<Strip> pattern_of)
      : b_(block), f_(format), rows_(rows), cols_(cols), pattern_of_(pattern_of) {
    const std::int64_t c = f_.count;
    x_ = b_.template shared<T>(rows * cols);
    other_ = b_.template shared<Strip>(cols);
    price_ = b_.template shared<T>(c);
    next_price_ = b_.template shared<T>(c);
    label_ = b_.template shared<T>(c);
    size_ = b_.template shared<std::int32_t>(c);
    next_size_ = b_.template shared<std::int32_t>(c);
    via_ = b_.template shared<std::int32_t>(c);
    known_ = b_.template shared<std::uint8_t>(c);
    closed_ = b_.template shared<std::uint8_t>(c);
    loss_ = b_.template shared<T>(c * c);
    mover_ = b_.template shared<Strip>(c * c);
    sums_ = b_.template shared<Sum>(2);
    near_ = b_.template shared<Near>(b_.threads());
    strips_ = b_.template shared<Strip>(2 * f_.strips());
    first_ = b_.template shared<std::int32_t>(c);
  }

  // Magnitudes [rows, cols], to be written in a phase before run().
  STEN_DEVICE Shared<T> magnitudes() const { return x_; }

  STEN_DEVICE void run() {
    choose_first();
    build_groups();
    for (;;) {
      const std::int32_t sink = nearest_underfull();
      if (sink < 0) break;
      move_along(sink);
    }
    fill_up();
  }

 private:
  struct Near {
    T distance;
    std::int32_t pattern;
    bool is_full;
  };

  STEN_DEVICE T score(std::int64_t s, std::int64_t p) const {
    T sum = 0;
    for (std::int64_t i = 0; i < f_.n; ++i) {
      const std::int64_t r = f_.patterns[p * f_.n + i];
      if (r < rows_) sum += T{x_[r * cols_ + s]};
    }
    return sum;
  }

  // Assigns the best pattern to every strip, and none to strips of zeros; then finds prices if they
  // pay.
  STEN_DEVICE void choose_first() {
    // As in the reference, against overflow of the sums of differences.
    int shift = 0;
    while (sizeof(T) == 4 && (cols_ + 15) / 16 * 2 >> shift > 8) ++shift;
    b_.for_each_thread([&](int t) {
      each_of(b_, t, f_.count, [&](std::int64_t p) {
        price_[p] = 0;
        size_[p] = 0;
      });
      each_of(b_, t, 2, [&](std::int64_t i) { sums_[i] = 0; });
    });
    b_.for_each_thread([&](int t) {
      each_of(b_, t, cols_, [&](std::int64_t s) {
        std::int64_t best = 0;
        T most = score(s, 0), second = -1;
        for (std::int64_t p = 1; p < f_.count; ++p) {
          const T v = score(s, p);
          const T less = v < most ? v : most;
          if (less > second) second = less;
          if (v > most) {
            most = v;
            best = p;
          }
        }
        pattern_of_[s] = static_cast<Strip>(most == 0 ? f_.count : best);
        if (most == 0) return;
        b_.add(size_, best, std::int32_t{1});
        b_.add(sums_, 0, Sum{1});
        if constexpr (sizeof(T) == 4) b_.add(sums_, 1, static_cast<Sum>((most - second) >> shift));
      });
    });
    const auto chosen = static_cast<std::int64_t>(b_.read(sums_, 0));
    if (sizeof(T) == 4 && chosen == f_.strips() && chosen >= nmg_min_priced)
      find_prices((static_cast<std::int64_t>(b_.read(sums_, 1)) << shift) / chosen);
  }

  STEN_DEVICE void find_prices(std::int64_t gap) {
    for (int step = 0; step < nmg_price_steps; ++step) {
      const std::int64_t before = overflow(size_);
      if (before == 0) return;
      b_.for_each_thread([&](int t) {
        each_of(b_, t, f_.count, [&](std::int64_t p) {
          next_price_[p] = nmg_next_price<T>(price_[p], gap, size_[p], f_.g);
          next_size_[p] = 0;
        });
      });
      b_.for_each_thread([&](int t) {
        each_of(b_, t, cols_, [&](std::int64_t s) {
          std::int64_t best = 0;
          T most = score(s, 0) - T{next_price_[0]};
          for (std::int64_t p = 1; p < f_.count; ++p)
            if (const T v = score(s, p) - T{next_price_[p]}; v > most) {
              most = v;
              best = p;
            }
          other_[s] = static_cast<Strip>(best);
          b_.add(next_size_, best, std::int32_t{1});
        });
      });
      if (overflow(next_size_) >= before) return;
      b_.for_each_thread([&](int t) {
        each_of(b_, t, f_.count, [&](std::int64_t p) {
          price_[p] = next_price_[p];
          size_[p] = next_size_[p];
        });
        each_of(b_, t, cols_, [&](std::int64_t s) { pattern_of_[s] = other_[s]; });
      });
    }
  }

  STEN_DEVICE std::int64_t overflow(const Shared<std::int32_t>& size) {
    b_.for_each_thread([&](int t) {
      if (t == 0) sums_[0] = 0;
    });
    b_.for_each_thread([&](int t) {
      each_of(b_, t, f_.count, [&](std::int64_t p) {
        if (size[p] > f_.g) b_.add(sums_, 0, static_cast<Sum>(size[p] - f_.g));
      });
    });
    return static_cast<std::int64_t>(b_.read(sums_, 0));
  }

  // As NmgGroups::build().
  STEN_DEVICE void build_groups() {
    b_.for_each_thread([&](int t) {
      if (t != 0) return;
      std::int32_t at = 0;
      for (std::int64_t p = 0; p < f_.count; ++p) {
        first_[p] = at;
        at += size_[p] > f_.g ? std::int32_t{size_[p]} : static_cast<std::int32_t>(f_.g);
      }
    });
    b_.for_each_thread([&](int t) {
      each_of(b_, t, f_.count, [&](std::int64_t p) {
        known_[p] = 0;
        std::int32_t at = first_[p];
        for (std::int64_t s = 0; s < cols_; ++s)
          if (pattern_of_[s] == p) strips_[at++] = static_cast<Strip>(s);
      });
    });
  }

  // Within a phase: computes loss(p, q), the least that a strip of p loses by moving to q, and this
  // strip.
  STEN_DEVICE void look_at(std::int64_t p, std::int64_t q) {
    T least = infinite;
    Strip mover = 0;
    const std::int32_t first = first_[p], end = first + size_[p];
    for (std::int32_t i = first; i < end; ++i) {
      const Strip s = strips_[i];
      if (const T v = score(s, p) - score(s, q); v < least) {
        least = v;
        mover = s;
      }
    }
    loss_[p * f_.count + q] = least;
    mover_[p * f_.count + q] = mover;
  }

  // Dijkstra's algorithm from all overfull patterns; returns -1 if no pattern is overfull.
  STEN_DEVICE std::int32_t nearest_underfull() {
    const std::int64_t c = f_.count;
    b_.for_each_thread([&](int t) {
      if (t == 0) sums_[0] = 0;
      each_of(b_, t, c, [&](std::int64_t p) {
        const bool is_over = size_[p] > f_.g;
        closed_[p] = is_over;
        label_[p] = is_over ? -price_[p] : infinite;
        via_[p] = -1;
      });
    });
    b_.for_each_thread([&](int t) {
      each_of(b_, t, c, [&](std::int64_t p) {
        if (closed_[p]) b_.add(sums_, 0, Sum{1});
      });
      each_pair(b_, t, c, c, [&](std::int64_t p, std::int64_t q) {
        if (closed_[p] && !known_[p]) look_at(p, q);
      });
    });
    if (b_.read(sums_, 0) == 0) return -1;
    b_.for_each_thread([&](int t) {
      each_of(b_, t, c, [&](std::int64_t q) {
        if (closed_[q]) {
          known_[q] = 1;
          return;
        }
        T label = infinite;
        std::int32_t via = -1;
        for (std::int64_t p = 0; p < c; ++p)
          if (closed_[p] && label_[p] + loss_[p * c + q] < label) {
            label = label_[p] + loss_[p * c + q];
            via = static_cast<std::int32_t>(p);
          }
        label_[q] = label;
        via_[q] = via;
      });
    });
    for (;;) {
      const std::int64_t nearest = find_nearest();
      if (b_.read(size_, nearest) < f_.g) {
        const T distance = b_.read(label_, nearest) + b_.read(price_, nearest);
        b_.for_each_thread([&](int t) {
          each_of(b_, t, c, [&](std::int64_t q) {
            if (const T v = distance - label_[q]; v > price_[q]) price_[q] = v;
          });
        });
        return static_cast<std::int32_t>(nearest);
      }
      const bool is_known = b_.read(known_, nearest);
      const T label = b_.read(label_, nearest);
      b_.for_each_thread([&](int t) {
        if (t == 0) closed_[nearest] = 1;
        if (t == 0) known_[nearest] = 1;
        each_of(b_, t, c, [&](std::int64_t q) {
          if (!is_known) look_at(nearest, q);
          if (const T v = label + loss_[nearest * c + q]; v < label_[q]) {
            label_[q] = v;
            via_[q] = static_cast<std::int32_t>(nearest);
          }
        });
      });
    }
  }

  // The nearest open pattern; at the same distance an underfull one, then the lowest.
  STEN_DEVICE std::int64_t find_nearest() {
    const auto nearer = [](const Near& a, const Near& b) {
      if (a.distance != b.distance) return a.distance < b.distance;
      return a.is_full != b.is_full ? b.is_full : a.pattern < b.pattern;
    };
    const auto of_thread = [&](int t) {
      Near best{std::numeric_limits<T>::max(), 0, true};
      each_of(b_, t, f_.count, [&](std::int64_t q) {
        const Near near{label_[q] + price_[q], static_cast<std::int32_t>(q), size_[q] >= f_.g};
        if (!closed_[q] && nearer(near, best)) best = near;
      });
      return best;
    };
    return reduce<Near>(b_, near_, of_thread,
                        [&](const Near& a, const Near& b) { return nearer(b, a) ? b : a; })
        .pattern;
  }

  // Moves strips along the path to `sink` as the reference does, the lowest first among equals.
  STEN_DEVICE void move_along(std::int64_t sink) {
    b_.for_each_thread([&](int t) {
      if (t != 0) return;
      const std::int64_t c = f_.count, from = via_[sink];
      if (via_[from] >= 0) {
        for (std::int64_t q = sink; via_[q] >= 0; q = via_[q])
          move(via_[q], q, mover_[via_[q] * c + q]);
        return;
      }
      const std::int64_t over = size_[from] - f_.g, under = f_.g - size_[sink];
      const T loss = loss_[from * c + sink];
      std::int64_t most = over < under ? over : under;
      for (std::int32_t i = first_[from]; most > 0 && i < first_[from] + size_[from];) {
        const Strip s = strips_[i];
        if (score(s, from) - score(s, sink) != loss) {
          ++i;
          continue;
        }
        move(from, sink, s);
        --most;
      }
    });
  }
  // Within a phase, by one thread.
  STEN_DEVICE void move(std::int64_t p, std::int64_t q, Strip s) {
    std::int32_t i = first_[p];
    const std::int32_t end = i + size_[p] - 1;
    while (strips_[i] != s) ++i;
    for (; i < end; ++i) strips_[i] = Strip{strips_[i + 1]};
    i = first_[q] + size_[q];
    for (; i > first_[q] && strips_[i - 1] > s; --i) strips_[i] = Strip{strips_[i - 1]};
    strips_[i] = s;
    pattern_of_[s] = static_cast<Strip>(q);
    size_[p] = size_[p] - 1;
    size_[q] = size_[q] + 1;
    known_[p] = 0;
    known_[q] = 0;
  }

  // As NmgGroups::fill_up().
  STEN_DEVICE void fill_up() {
    b_.for_each_thread([&](int t) {
      if (t != 0) return;
      std::int64_t p = 0;
      for (std::int64_t s = 0; s < f_.strips(); ++s) {
        if (s < cols_ && pattern_of_[s] < f_.count) continue;
        while (size_[p] == f_.g) ++p;
        size_[p] = size_[p] + 1;
        pattern_of_[s] = static_cast<Strip>(p);
      }
    });
  }

  Block& b_;
  const NmgFormat f_;
  const std::int64_t rows_, cols_;
  Shared<T> x_, price_, next_price_, label_, loss_;
  Shared<Strip> pattern_of_, other_, mover_, strips_;
  Shared<std::int32_t> size_, next_size_, via_, first_;
  Shared<std::uint8_t> known_, closed_;
  Shared<Sum> sums_;
  Shared<Near> near_;
};

}  // namespace sten::kernels
