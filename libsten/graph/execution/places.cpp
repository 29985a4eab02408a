#include "libsten/graph/execution/places.h"

#include <algorithm>
#include <numeric>

namespace sten {

Index plan_places(std::vector<Lease>& leases) {
  std::vector<Lease*> order;
  for (Lease& l : leases) order.push_back(&l);
  std::ranges::stable_sort(order, std::greater<>(), [](const Lease* l) { return l->size; });
  Index all = 0;
  std::vector<const Lease*> placed;  // from the lowest place to the highest
  for (Lease* l : order) {
    l->at = 0;
    for (const Lease* other : placed) {
      if (other->last < l->first || l->last < other->first) continue;
      if (l->at + l->size <= other->at) break;
      l->at = std::max(l->at, other->at + other->size);
    }
    const auto before = [&](const Lease* other) { return other->at <= l->at; };
    placed.insert(std::ranges::partition_point(placed, before), l);
    all = std::max(all, l->at + l->size);
  }
  return all;
}

std::vector<Index> held_by_step(const std::vector<Lease>& leases, Index steps) {
  std::vector<Index> held(static_cast<std::size_t>(steps) + 1);
  for (const Lease& l : leases) {
    if (l.first >= steps || l.last < l.first) continue;
    held[l.first] += l.size;
    held[std::min(l.last + 1, steps)] -= l.size;
  }
  std::partial_sum(held.begin(), held.end(), held.begin());
  held.pop_back();
  return held;
}

Index most_held(const std::vector<Lease>& leases) {
  Index last = -1;
  for (const Lease& l : leases) last = std::max(last, l.first);
  Index most = 0;
  for (const Index held : held_by_step(leases, last + 1)) most = std::max(most, held);
  return most;
}

}  // namespace sten
