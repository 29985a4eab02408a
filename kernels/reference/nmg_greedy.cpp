// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/nmg_greedy.h"

#include <algorithm>

namespace sten::kernels {
namespace {

template <class T>
bool before(const NmgCandidate<T>& a, const NmgCandidate<T>& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.strip != b.strip) return a.strip > b.strip;
  return a.pattern > b.pattern;
}

template <class T>
NmgCandidate<T> best_with_room(const NmgChunk<T>& c, const std::int32_t* fill, std::int32_t strip) {
  NmgCandidate<T> best{T(-1), strip, -1};
  for (std::int32_t p = 0; p < c.count; ++p) {
    if (fill[p] == c.g) continue;
    const T score = nmg_score(c, strip, p);
    if (score >= best.score) best = {score, strip, p};
  }
  return best;
}

template <class T>
bool is_zero(const NmgChunk<T>& c, std::int64_t strip) {
  for (std::int64_t r = 0; r < c.m; ++r)
    if (c.x[r * c.count * c.g + strip] != 0) return false;
  return true;
}

}  // namespace

template <class T>
void nmg_fit_greedy(const NmgChunk<T>& c, NmgCandidate<T>* candidates, std::int32_t* fill,
                    std::int32_t* pattern_of) {
  const std::int64_t strips = c.count * c.g;
  NmgCandidate<T>* end = candidates;
  for (std::int32_t s = 0; s < strips; ++s)
    for (std::int32_t p = 0; p < c.count; ++p) *end++ = {nmg_score(c, s, p), s, p};
  std::sort(candidates, end, before<T>);
  std::fill_n(fill, c.count, 0);
  std::fill_n(pattern_of, strips, -1);
  for (const NmgCandidate<T>* pair = candidates; pair != end; ++pair) {
    if (pattern_of[pair->strip] >= 0 || fill[pair->pattern] == c.g) continue;
    pattern_of[pair->strip] = pair->pattern;
    ++fill[pair->pattern];
  }
}

template <class T>
void nmg_fit_greedy_lazy(const NmgChunk<T>& c, NmgCandidate<T>* candidates, std::int32_t* fill,
                         std::int32_t* pattern_of) {
  const std::int64_t strips = c.count * c.g;
  const auto later = [](const NmgCandidate<T>& a, const NmgCandidate<T>& b) {
    return before(b, a);
  };
  std::fill_n(fill, c.count, 0);
  // Strips of zeros, including padding, take the last pattern with room.
  auto last = static_cast<std::int32_t>(c.count - 1);
  const auto best = [&](std::int32_t strip) {
    if (!is_zero(c, strip)) return best_with_room(c, fill, strip);
    while (fill[last] == c.g) --last;
    return NmgCandidate<T>{0, strip, last};
  };
  for (std::int32_t s = 0; s < strips; ++s) candidates[s] = best(s);
  std::make_heap(candidates, candidates + strips, later);
  for (NmgCandidate<T>* end = candidates + strips; end != candidates;) {
    std::pop_heap(candidates, end, later);
    NmgCandidate<T>& pair = *(end - 1);
    if (fill[pair.pattern] < c.g) {
      pattern_of[pair.strip] = pair.pattern;
      ++fill[pair.pattern];
      --end;
    } else {
      pair = best(pair.strip);
      std::push_heap(candidates, end, later);
    }
  }
}

template <class T>
void nmg_improve(const NmgChunk<T>& c, std::int32_t* members, std::int32_t* fill,
                 std::int32_t* pattern_of) {
  const std::int64_t strips = c.count * c.g;
  std::fill_n(fill, c.count, 0);
  for (std::int32_t s = 0; s < strips; ++s)
    members[pattern_of[s] * c.g + fill[pattern_of[s]]++] = s;
  for (std::int32_t i = 0; i < 2 * strips; ++i) {
    const auto s = static_cast<std::int32_t>(i % strips);
    if (is_zero(c, s)) continue;
    const std::int32_t p = pattern_of[s];
    std::int32_t q = 0;
    T best = -1;
    for (std::int32_t r = 0; r < c.count; ++r)
      if (const T score = nmg_score(c, s, r); score > best) {
        best = score;
        q = r;
      }
    T most = 0;  // gain; sums of infinities are NaN and do not count
    std::int32_t* other = nullptr;
    for (std::int32_t* t = members + q * c.g; p != q && t != members + (q + 1) * c.g; ++t) {
      const T gain = best - nmg_score(c, s, p) + nmg_score(c, *t, p) - nmg_score(c, *t, q);
      if (gain > most) {
        most = gain;
        other = t;
      }
    }
    if (other == nullptr) continue;
    const std::int32_t t = *other;
    *std::find(members + p * c.g, members + (p + 1) * c.g, s) = t;
    *other = s;
    pattern_of[s] = q;
    pattern_of[t] = p;
  }
}

template void nmg_improve(const NmgChunk<float>&, std::int32_t*, std::int32_t*, std::int32_t*);
template void nmg_improve(const NmgChunk<double>&, std::int32_t*, std::int32_t*, std::int32_t*);
template void nmg_fit_greedy(const NmgChunk<float>&, NmgCandidate<float>*, std::int32_t*,
                             std::int32_t*);
template void nmg_fit_greedy(const NmgChunk<double>&, NmgCandidate<double>*, std::int32_t*,
                             std::int32_t*);
template void nmg_fit_greedy_lazy(const NmgChunk<float>&, NmgCandidate<float>*, std::int32_t*,
                                  std::int32_t*);
template void nmg_fit_greedy_lazy(const NmgChunk<double>&, NmgCandidate<double>*, std::int32_t*,
                                  std::int32_t*);

}  // namespace sten::kernels
