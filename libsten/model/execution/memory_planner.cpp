// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/memory_planner.h"

#include <algorithm>
#include <numeric>

namespace sten {

Index plan_memory(std::vector<BufferLifetime>& lifetimes) {
  std::vector<BufferLifetime*> order;
  for (BufferLifetime& l : lifetimes) order.push_back(&l);
  std::ranges::stable_sort(order, std::greater<>(),
                           [](const BufferLifetime* l) { return l->size; });
  Index all = 0;
  std::vector<const BufferLifetime*> placed;  // by ascending offset
  for (BufferLifetime* l : order) {
    l->at = 0;
    for (const BufferLifetime* other : placed) {
      if (other->last < l->first || l->last < other->first) continue;
      if (l->at + l->size <= other->at) break;
      l->at = std::max(l->at, other->at + other->size);
    }
    const auto before = [&](const BufferLifetime* other) { return other->at <= l->at; };
    placed.insert(std::ranges::partition_point(placed, before), l);
    all = std::max(all, l->at + l->size);
  }
  return all;
}

std::vector<Index> live_size_by_step(const std::vector<BufferLifetime>& lifetimes, Index steps) {
  std::vector<Index> held(static_cast<std::size_t>(steps) + 1);
  for (const BufferLifetime& l : lifetimes) {
    if (l.first >= steps || l.last < l.first) continue;
    held[l.first] += l.size;
    held[std::min(l.last + 1, steps)] -= l.size;
  }
  std::partial_sum(held.begin(), held.end(), held.begin());
  held.pop_back();
  return held;
}

Index peak_live_size(const std::vector<BufferLifetime>& lifetimes) {
  Index last = -1;
  for (const BufferLifetime& l : lifetimes) last = std::max(last, l.first);
  Index most = 0;
  for (const Index held : live_size_by_step(lifetimes, last + 1)) most = std::max(most, held);
  return most;
}

}  // namespace sten
