// SPDX-License-Identifier: Apache-2.0
// The paper's greedy fit of n:m:g (section 5.2): a readable reference, and a version with the same
// result in less memory.
#pragma once
#include <cstdint>

namespace sten::kernels {

// A chunk: S = count * g strips of m values. x[p * S + s] >= 0 is the magnitude of row p of strip
// s, 0 in padding. patterns [count, n], ascending rows.
template <class T>
struct NmgChunk {
  const T* x;
  const std::uint16_t* patterns;
  std::int64_t n, m, count, g;
};

template <class T>
struct NmgCandidate {
  T score;  // magnitude that the strip keeps under the pattern
  std::int32_t strip, pattern;
};

// The kept magnitude of a strip under a pattern, summed in ascending row order.
template <class T>
T nmg_score(const NmgChunk<T>& c, std::int64_t strip, std::int64_t pattern) {
  T sum = 0;
  for (std::int64_t i = 0; i < c.n; ++i)
    sum += c.x[c.patterns[pattern * c.n + i] * c.count * c.g + strip];
  return sum;
}

// Greedy fit. Takes all candidates in descending order of score, ties by higher strip, then higher
// pattern; a candidate is accepted if its strip is free and its pattern has fewer than g strips.
// candidates: scratch [count * S]; fill: scratch [count]; pattern_of: result [S].
template <class T>
void nmg_fit_greedy(const NmgChunk<T>& chunk, NmgCandidate<T>* candidates, std::int32_t* fill,
                    std::int32_t* pattern_of);

// The same result with scratch candidates [S]: a heap holds each free strip's best pattern with
// room. If the pattern has filled up when the strip is popped, the strip is pushed with its next
// pattern.
template <class T>
void nmg_fit_greedy_lazy(const NmgChunk<T>& chunk, NmgCandidate<T>* candidates, std::int32_t* fill,
                         std::int32_t* pattern_of);

// Improves an assignment by swaps: each strip exchanges patterns with the strip that has its best
// pattern and loses least, if the two then keep more. Two passes over the strips in ascending
// order. members: scratch [S]; fill: scratch [count].
template <class T>
void nmg_improve(const NmgChunk<T>& chunk, std::int32_t* members, std::int32_t* fill,
                 std::int32_t* pattern_of);

}  // namespace sten::kernels
