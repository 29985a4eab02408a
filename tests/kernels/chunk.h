// SPDX-License-Identifier: Apache-2.0
// Random chunks of n:m:g for tests of fits.
#pragma once
#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/nmg_exact.h"
#include "libsten/core/layout/nmg_patterns.h"
#include "tests/support/tensors.h"

namespace sten::testing {

using kernels::NmgFormat;
using Patterns = std::vector<std::uint16_t>;

// A chunk of `rows` x `cols` values; the rest is padding.
template <class T>
struct Chunk {
  std::shared_ptr<const PatternTable> table;
  Index g, rows, cols;
  std::vector<T> x;

  Chunk(Index n, Index m, Index group)
      : table(PatternTable::get(n, m)), g(group), rows(m), cols(strips()), x(rows * cols) {}
  NmgFormat format() const { return table->format(g); }
  Index strips() const { return table->count() * g; }

  double magnitude(Index r, Index s) const {
    if (r >= rows || s >= cols) return 0;
    const double v = std::abs(static_cast<double>(x[r * cols + s]));
    return std::isnan(v) ? INFINITY : v;
  }
  double score(Index s, Index p) const {
    double sum = 0;
    for (const std::uint16_t r : (*table)[p]) sum += magnitude(r, s);
    return sum;
  }
  double greatest() const {
    double top = 0;
    for (Index s = 0; s < cols; ++s)
      for (Index r = 0; r < rows; ++r) top = std::max(top, magnitude(r, s));
    return top;
  }
  // The ratio of the greatest to the least nonzero magnitude.
  double spread() const {
    double least = INFINITY;
    for (const T v : x)
      if (v != 0) least = std::min(least, std::abs(static_cast<double>(v)));
    return greatest() / least;
  }
  double kept(const Patterns& of) const {
    double sum = 0;
    for (Index s = 0; s < strips(); ++s) sum += score(s, of[s]);
    return sum;
  }
};

enum class ChunkValues { normal, ties, zeros, sparse, rows, wide, ordered, kinds };

template <class T>
void fill(Dice& dice, Chunk<T>& chunk, ChunkValues kind) {
  std::vector<double> scale(chunk.rows, 1.0);
  if (kind == ChunkValues::rows)
    for (double& v : scale) v = std::exp(2 * dice.normal());
  for (Index r = 0; r < chunk.rows; ++r)
    for (Index s = 0; s < chunk.cols; ++s) {
      double v = scale[r] * dice.normal();
      if (kind == ChunkValues::ties) v = std::round(v);
      if (kind == ChunkValues::zeros) v = 0;
      if (kind == ChunkValues::sparse && dice.below(6)) v = 0;
      if (kind == ChunkValues::wide) v = std::ldexp(v, static_cast<int>(dice.below(40)) - 20);
      if (kind == ChunkValues::ordered) v = static_cast<double>(r + s);
      chunk.x[r * chunk.cols + s] = static_cast<T>(v);
    }
}

struct Format {
  Index n, m, g;
};

inline const std::vector<Format>& formats() {
  static const std::vector<Format> all{
      {1, 1, 3},  {2, 2, 5},   {1, 2, 1},  {1, 2, 16}, {1, 2, 100}, {1, 3, 4},  {2, 3, 1},
      {2, 3, 16}, {1, 4, 1},   {1, 4, 4},  {1, 4, 16}, {3, 4, 7},   {2, 4, 1},  {2, 4, 2},
      {2, 4, 4},  {2, 4, 16},  {1, 5, 3},  {2, 5, 4},  {3, 5, 2},   {4, 5, 8},  {1, 6, 2},
      {3, 6, 1},  {3, 6, 4},   {2, 6, 5},  {1, 8, 2},  {1, 8, 8},   {7, 8, 3},  {2, 8, 2},
      {3, 8, 1},  {4, 8, 1},   {6, 8, 1},  {1, 10, 1}, {1, 10, 3},  {1, 10, 4}, {2, 10, 1},
      {1, 16, 2}, {15, 16, 1}, {1, 17, 3}, {1, 20, 4}, {1, 33, 1},  {1, 64, 1}, {2, 12, 1}};
  return all;
}

// The total number of chunks: STEN_FIT_CHUNKS, or `few`.
inline Index chunks_to_try(Index few) {
  const char* asked = std::getenv("STEN_FIT_CHUNKS");
  return asked ? std::atoll(asked) : few;
}

}  // namespace sten::testing
