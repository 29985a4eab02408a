#include "libsten/graph/execution/places.h"

#include <algorithm>

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

Index most_held(const std::vector<Lease>& leases) {
  Index most = 0;
  for (const Lease& at : leases) {
    Index held = 0;
    for (const Lease& l : leases)
      if (l.first <= at.first && at.first <= l.last) held += l.size;
    most = std::max(most, held);
  }
  return most;
}

}  // namespace sten
