// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/balanced_groups.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sten {
namespace {

class Auction {
 public:
  Auction(const std::vector<float>& values, Index rows, Index groups, Index v)
      : values_(values), rows_(rows), assigned_(static_cast<std::size_t>(groups)), price_(groups) {
    for (Index k = 0; k < groups; ++k)
      assigned_[k].assign(static_cast<std::size_t>(std::min(v, rows - k * v)), Assignment{});
  }

  std::vector<Index> run(float step) {
    std::vector<Index> left(static_cast<std::size_t>(rows_));
    std::iota(left.rbegin(), left.rend(), Index{0});
    constexpr Index rounds_per_row = 100;
    for (Index rounds = rows_ * rounds_per_row; !left.empty() && rounds > 0; --rounds) {
      const Index row = left.back();
      left.pop_back();
      const Bid bid = best_of(row);
      if (const Index out = take(bid.group, {bid.by + step, row}); out >= 0) left.push_back(out);
    }
    std::vector<Index> group_of(static_cast<std::size_t>(rows_));
    Index free = 0;  // first group that may have room, if the auction was stopped
    for (const Index row : left) {
      while (assigned_[free].front().row >= 0) ++free;
      take(free, {0, row});
    }
    for (std::size_t k = 0; k < assigned_.size(); ++k)
      for (const Assignment& p : assigned_[k]) group_of[p.row] = static_cast<Index>(k);
    return group_of;
  }

 private:
  struct Assignment {
    float price = 0;
    Index row = -1;
    // The heap's first element is the cheapest assignment, of equal ones a free one.
    bool operator<(const Assignment& o) const {
      return price != o.price ? price > o.price : row > o.row;
    }
  };
  struct Bid {
    Index group;
    float by;  // the price up to which this group is the best one
  };

  Bid best_of(Index row) const {
    const float* value = values_.data() + row * std::ssize(price_);
    float best = -std::numeric_limits<float>::infinity(), second = best;
    Index group = 0;
    for (Index k = 0; k < std::ssize(price_); ++k) {
      const float net = value[k] - price_[k];
      if (net > best) {
        second = best;
        best = net;
        group = k;
      } else if (net > second) {
        second = net;
      }
    }
    // A single group has no competitors.
    return {group, price_[group] + (price_.size() > 1 ? best - second : 0)};
  }

  // Returns the row that is displaced, -1 if the assignment was free.
  Index take(Index group, Assignment by) {
    std::vector<Assignment>& heap = assigned_[group];
    std::pop_heap(heap.begin(), heap.end());
    const Index out = heap.back().row;
    heap.back() = by;
    std::push_heap(heap.begin(), heap.end());
    price_[group] = heap.front().price;
    return out;
  }

  const std::vector<float>& values_;
  Index rows_;
  std::vector<std::vector<Assignment>> assigned_;  // a heap per group
  std::vector<float> price_;                       // of the cheapest assignment of each group
};

}  // namespace

std::vector<Index> balanced_groups(const std::vector<float>& values, Index rows, Index groups,
                                   Index v, float step) {
  return Auction(values, rows, groups, v).run(step);
}

}  // namespace sten
