// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/merge_subwords.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <span>

namespace sten {
namespace {

// Words up to this size are searched for the lowest rank after each merge; that takes less time
// than a queue.
constexpr std::size_t small = 32;

void merge_small(const MergeRanks& ranks, std::size_t begin, std::vector<TokenId>& ids) {
  constexpr BpeMerge none{std::numeric_limits<std::int32_t>::max(), 0};
  std::array<BpeMerge, small> merges;  // of each id with the next one
  std::size_t n = ids.size() - begin;
  const std::span<TokenId> all(ids.begin() + static_cast<std::ptrdiff_t>(begin), n);
  const auto look = [&](std::size_t i) {
    const BpeMerge* m = ranks.find(all[i], all[i + 1]);
    merges[i] = m ? *m : none;
  };
  for (std::size_t i = 0; i + 1 < n; ++i) look(i);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i)
      if (merges[i].rank < merges[best].rank) best = i;
    if (merges[best].rank == none.rank) break;
    all[best] = merges[best].merged;
    std::copy(all.begin() + static_cast<std::ptrdiff_t>(best) + 2,
              all.begin() + static_cast<std::ptrdiff_t>(n),
              all.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    for (std::size_t i = best + 1; i + 2 < n; ++i) merges[i] = merges[i + 1];
    --n;
    if (best > 0) look(best - 1);
    if (best + 1 < n) look(best);
  }
  ids.resize(begin + n);
}

// A subword during merging; `last` and `next` are its neighbours.
struct Symbol {
  TokenId id;
  std::int32_t last, next;  // -1: none
  bool is_gone = false;
};

struct Candidate {
  std::int32_t rank, at;
  TokenId merged;
  friend bool operator>(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
  }
};

}  // namespace

void merge_subwords(const MergeRanks& ranks, std::size_t begin, std::vector<TokenId>& ids) {
  if (ids.size() - begin <= small) return merge_small(ranks, begin, ids);
  std::vector<Symbol> symbols;
  symbols.reserve(ids.size() - begin);
  for (std::size_t i = begin; i < ids.size(); ++i) {
    const auto at = static_cast<std::int32_t>(symbols.size());
    symbols.push_back({ids[i], at - 1, at + 1});
  }
  symbols.back().next = -1;
  ids.resize(begin);
  std::vector<Candidate> memory;
  memory.reserve(2 * symbols.size());
  std::priority_queue queue(std::greater<Candidate>(), std::move(memory));
  const auto offer = [&](std::int32_t at) {
    if (at < 0 || symbols[at].next < 0) return;
    if (const BpeMerge* m = ranks.find(symbols[at].id, symbols[symbols[at].next].id))
      queue.push({m->rank, at, m->merged});
  };
  for (std::int32_t i = 0; i + 1 < std::ssize(symbols); ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& a = symbols[best.at];
    if (a.is_gone || a.next < 0) continue;
    Symbol& b = symbols[a.next];
    // The pair may have changed.
    const BpeMerge* m = ranks.find(a.id, b.id);
    if (!m || m->merged != best.merged) continue;
    a.id = best.merged;
    a.next = b.next;
    b.is_gone = true;
    if (a.next >= 0) symbols[a.next].last = best.at;
    offer(a.last);
    offer(best.at);
  }
  for (const Symbol& s : symbols)
    if (!s.is_gone) ids.push_back(s.id);
}

}  // namespace sten
