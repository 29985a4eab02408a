// The paper's greedy assignment of n:m:g patterns to the strips of one chunk (section 5.2), as a
// reference that can be read, and the same result in bounded memory.
#pragma once
#include <cstdint>

namespace sten::kernels {

// A chunk: S = count * g strips of m values. x[p * S + s] >= 0 is the magnitude of row p of strip
// s, 0 in padding. patterns[count, n] are ascending rows.
template <class T>
struct NmgChunk {
  const T* x;
  const std::uint16_t* patterns;
  std::int64_t n, m, count, g;
};

template <class T>
struct NmgCandidate {
  T score;  // what the strip keeps under the pattern
  std::int32_t strip, pattern;
};

// The kept L1 sum, added up in ascending row order.
template <class T>
T nmg_score(const NmgChunk<T>& c, std::int64_t strip, std::int64_t pattern) {
  T sum = 0;
  for (std::int64_t i = 0; i < c.n; ++i)
    sum += c.x[c.patterns[pattern * c.n + i] * c.count * c.g + strip];
  return sum;
}

// All (strip, pattern) pairs, best score first, ties by higher strip, then higher pattern; a pair
// is taken if its strip is free and its pattern has fewer than g strips.
// pairs: scratch [count * S]; fill: scratch [count]; pattern_of: result [S].
template <class T>
void nmg_fit_greedy(const NmgChunk<T>& chunk, NmgCandidate<T>* candidates, std::int32_t* fill,
                    std::int32_t* pattern_of);

// The same result with S pairs of scratch: a heap holds each free strip's best pattern that still
// has room; a strip whose pattern filled up meanwhile looks for its next one when it is drawn.
template <class T>
void nmg_fit_greedy_lazy(const NmgChunk<T>& chunk, NmgCandidate<T>* candidates, std::int32_t* fill,
                         std::int32_t* pattern_of);

// Improves an assignment: a strip and one that has its best pattern, the one that loses least by
// it, change places if they keep more together. Strips in ascending order, twice.
// members: scratch [S]; fill: scratch [count].
template <class T>
void nmg_improve(const NmgChunk<T>& chunk, std::int32_t* members, std::int32_t* fill,
                 std::int32_t* pattern_of);

}  // namespace sten::kernels
