// Reference of each built-in sparsifier, written from its rule without the library's views, kernels
// or threads. For finite values.
#pragma once
#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "libsten/core/sparsify/sparsifier.h"
#include "tests/support/nmg_judge.h"
#include "tests/support/parts.h"

namespace sten::testing {

inline std::vector<double> numbers(const Dense& x) {
  std::vector<double> v(x.size());
  with_float(x.dtype(), [&]<class E>(E) {
    const auto bits = x.values.as<typename E::Bits>();
    for (Index i = 0; i < x.size(); ++i) v[i] = E::decode(bits[i]);
  });
  return v;
}

// Keeps all but the `drop` smallest; among equals the later one is dropped first.
inline std::vector<bool> all_but_smallest(const std::vector<double>& rank, Index drop) {
  std::vector<Index> order(rank.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return rank[a] != rank[b] ? rank[a] < rank[b] : a > b; });
  std::vector<bool> keep(rank.size(), true);
  for (Index i = 0; i < drop; ++i) keep[order[i]] = false;
  return keep;
}

inline Index share_of(const Spec& s, std::size_t n) {
  return std::llround(s.number("sparsity") * static_cast<double>(n));
}

// [batch][row][column] -> offset: the matrix view of a tensor (docs/formats.md).
using Matrices = std::vector<std::vector<std::vector<Index>>>;
inline Matrices matrices(const Shape& shape, const Spec& spec, bool transposed) {
  const auto rank = static_cast<Index>(shape.size());
  Index row = 0, col = -1;
  if (spec.has("dims")) {
    const std::string dims(spec.word("dims", ""));
    row = dims[0] - '0';
    col = dims[2] - '0';
  }
  const auto is_batch = [&](Index d) { return col >= 0 && d != row && d != col; };
  Index batches = 1, rows = shape[row], cols = 1;
  for (Index d = 0; d < rank; ++d) {
    if (is_batch(d)) batches *= shape[d];
    if (d != row && !is_batch(d)) cols *= shape[d];
  }
  if (transposed) std::swap(rows, cols);
  Matrices all(batches, {static_cast<std::size_t>(rows), std::vector<Index>(cols)});
  for (Index i = 0; i < size_of(shape); ++i) {
    Index b = 0, r = 0, c = 0, below = size_of(shape);
    for (Index d = 0; d < rank; ++d) {
      below /= shape[d];
      const Index at = i / below % shape[d];
      if (is_batch(d))
        b = b * shape[d] + at;
      else if (d == row)
        r = at;
      else
        c = c * shape[d] + at;
    }
    if (transposed) std::swap(r, c);
    all[b][r][c] = i;
  }
  return all;
}

// The paper's greedy fit, with sums in the precision in which values are ranked.
inline void keep_greedily(Mask& mask, const Spec& s, const Dense& x) {
  const Index n = s.integer("n"), m = s.integer("m"), g = s.integer("g");
  const auto patterns = patterns_of(n, m);
  const Index strips = static_cast<Index>(patterns.size()) * g;
  const std::vector<double> v = numbers(x);
  struct Pair {
    double score;
    Index strip, pattern;
  };
  for (const auto& a : matrices(x.extents, s, s.integer("axis", 0) == 1)) {
    const auto rows = std::ssize(a), cols = rows ? std::ssize(a[0]) : 0;
    for (Index r0 = 0; r0 < rows; r0 += m)
      for (Index c0 = 0; c0 < cols; c0 += strips) {
        std::vector<Pair> pairs;
        for (Index t = 0; t < strips; ++t)
          for (Index p = 0; p < std::ssize(patterns); ++p) {
            double sum = 0;
            for (const Index i : patterns[p])
              if (r0 + i < rows && c0 + t < cols) {
                sum += std::abs(v[a[r0 + i][c0 + t]]);
                if (x.dtype() != DType::F64) sum = static_cast<float>(sum);
              }
            pairs.push_back({sum, t, p});
          }
        std::sort(pairs.begin(), pairs.end(), [](const Pair& l, const Pair& r) {
          if (l.score != r.score) return l.score > r.score;
          return l.strip != r.strip ? l.strip > r.strip : l.pattern > r.pattern;
        });
        std::vector<Index> fill(patterns.size());
        std::vector<bool> taken(strips);
        for (const Pair& p : pairs) {
          if (taken[p.strip] || fill[p.pattern] == g) continue;
          taken[p.strip] = true;
          ++fill[p.pattern];
          for (const Index i : patterns[p.pattern])
            if (r0 + i < rows && c0 + p.strip < cols) mask.set(a[r0 + i][c0 + p.strip], true);
        }
      }
  }
}

// "" if every chunk has each pattern g times and no other assignment keeps more.
inline std::string fault_of_exact(const Mask& mask, const Spec& s, const Dense& x) {
  const Index m = s.integer("m");
  NmgJudge judge(s.integer("n"), m, s.integer("g"));
  const std::vector<double> v = numbers(x);
  for (const auto& a : matrices(x.extents, s, s.integer("axis", 0) == 1)) {
    const auto rows = std::ssize(a), cols = rows ? std::ssize(a[0]) : 0;
    for (Index r0 = 0; r0 < rows; r0 += m)
      for (Index c0 = 0; c0 < cols; c0 += judge.strips()) {
        std::vector<std::vector<Judged>> chunk(std::min(judge.strips(), cols - c0));
        for (Index c = 0; c < std::ssize(chunk); ++c)
          for (Index r = r0; r < std::min(r0 + m, rows); ++r)
            chunk[c].push_back({std::abs(v[a[r][c0 + c]]), mask[a[r][c0 + c]]});
        if (const std::string wrong = judge.fault(std::move(chunk)); !wrong.empty()) return wrong;
      }
  }
  return "";
}

// The sums of the tiles of nmgv, in the precision in which values are ranked, and their elements.
struct SummedTiles {
  Dense sums;  // [batches, rows of tiles, columns of tiles]
  std::vector<std::vector<Index>> elements;
  Spec spec;  // nmg on the sums

  SummedTiles(const Spec& s, const Dense& x) : spec("nmg") {
    for (const char* key : {"n", "m", "g", "axis", "fit"})
      if (s.has(key)) spec.set(key, std::string(s.word(key, "")));
    spec.set("dims", "1.2");
    const Index v = s.integer("v"), w = s.integer("w", 2);
    const std::vector<double> values = numbers(x);
    const Matrices all = matrices(x.extents, s, false);
    const Index rows = all.empty() ? 0 : std::ssize(all[0]),
                cols = rows ? std::ssize(all[0][0]) : 0;
    const DType dtype = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
    sums = Dense::zeros(dtype, {std::ssize(all), (rows + v - 1) / v, (cols + w - 1) / w});
    for (const auto& a : all)
      for (Index r0 = 0; r0 < rows; r0 += v)
        for (Index c0 = 0; c0 < cols; c0 += w) {
          double sum = 0;
          elements.emplace_back();
          for (Index r = r0; r < std::min(r0 + v, rows); ++r)
            for (Index c = c0; c < std::min(c0 + w, cols); ++c) {
              elements.back().push_back(a[r][c]);
              sum += std::abs(values[a[r][c]]);
              if (dtype == DType::F32) sum = static_cast<float>(sum);
            }
          const Index at = std::ssize(elements) - 1;
          if (dtype == DType::F32)
            sums.values.mutate<float>()[at] = static_cast<float>(sum);
          else
            sums.values.mutate<double>()[at] = sum;
        }
  }
};

// "" if every tile is kept or pruned as a whole, as the exact fit of n:m:g on the sums chooses.
inline std::string fault_of_exact_tiles(const Mask& mask, const Spec& s, const Dense& x) {
  const SummedTiles tiles(s, x);
  Mask kept = Mask::none(tiles.sums.extents);
  for (Index t = 0; t < std::ssize(tiles.elements); ++t) {
    kept.set(t, mask[tiles.elements[t][0]]);
    for (const Index i : tiles.elements[t])
      if (mask[i] != kept[t]) return "a part of a tile stays";
  }
  return fault_of_exact(kept, tiles.spec, tiles.sums);
}

inline void keep_tiles_greedily(Mask& mask, const Spec& s, const Dense& x) {
  const SummedTiles tiles(s, x);
  Mask kept = Mask::none(tiles.sums.extents);
  keep_greedily(kept, tiles.spec, tiles.sums);
  for (Index t = 0; t < std::ssize(tiles.elements); ++t)
    for (const Index i : tiles.elements[t]) mask.set(i, kept[t]);
}

inline void keep_of_blocks(Mask& mask, const Spec& s, const std::vector<double>& v) {
  const Index n = s.integer("n"), m = s.integer("m");
  for (const auto& a : matrices(mask.extents, s, s.integer("axis", 1) == 0))
    for (const auto& line : a)
      for (Index c = 0; c < std::ssize(line); c += m) {
        std::vector<double> rank;  // backwards, because the earlier one is kept
        for (Index j = std::min<Index>(c + m, std::ssize(line)); j-- > c;)
          rank.push_back(std::abs(v[line[j]]));
        const auto b = std::ssize(rank);
        for (Index j = 0; j < b; ++j) {
          Index ahead = 0;
          for (Index k = 0; k < b; ++k) ahead += rank[k] > rank[j] || (rank[k] == rank[j] && k > j);
          if (ahead < n) mask.set(line[c + b - 1 - j], true);
        }
      }
}

inline void keep_large_blocks(Mask& mask, const Spec& s, const std::vector<double>& v) {
  const Index h = s.integer("h"), w = s.integer("w");
  const Matrices all = matrices(mask.extents, s, false);
  std::vector<std::vector<Index>> blocks;
  for (const auto& a : all)
    for (Index r = 0; r < std::ssize(a); r += h)
      for (Index c = 0; c < std::ssize(a[0]); c += w) {
        std::vector<Index> block;
        for (Index i = r; i < std::min<Index>(r + h, std::ssize(a)); ++i)
          for (Index j = c; j < std::min<Index>(c + w, std::ssize(a[0])); ++j)
            block.push_back(a[i][j]);
        blocks.push_back(block);
      }
  std::vector<double> sums;
  for (const auto& block : blocks) {
    double sum = 0;
    for (const Index i : block) sum += std::abs(v[i]);
    sums.push_back(sum);
  }
  const auto keep = all_but_smallest(sums, share_of(s, sums.size()));
  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (const Index i : blocks[b])
      if (keep[b]) mask.set(i, true);
}

// The mask that a built-in sparsifier keeps; none for other sparsifiers. The exact fits of nmg and
// nmgv have several valid masks: see fault_of_exact().
inline std::optional<Mask> reference_mask(const Spec& s, const Dense& x, const Hints& hints) {
  const std::vector<double> v = numbers(x);
  const std::size_t n = v.size();
  Mask mask = Mask::none(x.extents);
  const auto keep_if = [&](const std::function<bool(Index)>& keep) {
    for (Index i = 0; i < x.size(); ++i) mask.set(i, keep(i));
    return mask;
  };
  const auto keep_top = [&](const std::vector<double>& rank) {
    const auto keep = all_but_smallest(rank, share_of(s, n));
    return keep_if([&](Index i) { return keep[i]; });
  };
  std::vector<double> score = hints.scores ? numbers(*hints.scores) : std::vector<double>();
  if (s.is("keep-all")) return Mask::all(x.extents);
  if (s.is("random"))
    return keep_if(
        [&](Index i) { return random_uniform(s.integer("seed"), i) >= s.number("fraction"); });
  if (s.is("threshold")) return keep_if([&](Index i) { return std::abs(v[i]) >= s.number("at"); });
  if (s.is("relu")) return keep_if([&](Index i) { return v[i] > 0; });
  if (s.is("same-pattern")) return *hints.pattern;
  if (s.is("resparsify"))
    return reference_mask(hints.own->spec(), x, {hints.pattern, hints.scores, nullptr});
  if (s.is("soft-movement"))
    return keep_if([&](Index i) { return 1 / (1 + std::exp(-score[i])) > s.number("at"); });
  if (s.is("variational-dropout"))
    return keep_if(
        [&](Index i) { return score[i] - std::log(v[i] * v[i] + 1e-8) <= s.number("at"); });
  if (s.is("l0"))
    return keep_if(
        [&](Index i) { return std::clamp(1.2 / (1 + std::exp(-score[i])) - 0.1, 0.0, 1.0) > 0; });
  if (s.is("movement")) return keep_top(score);
  if (s.is("gradient")) {
    const bool wide = x.dtype() == DType::F64 || hints.scores->dtype() == DType::F64;
    for (std::size_t i = 0; i < n; ++i)
      score[i] = std::abs(wide ? v[i] * score[i]
                               : static_cast<float>(v[i]) * static_cast<float>(score[i]));
    return keep_top(score);
  }
  if (s.is("magnitude")) {
    std::vector<double> rank;
    for (const double u : v) rank.push_back(std::abs(u));
    return keep_top(rank);
  }
  if (s.is("nm")) return keep_of_blocks(mask, s, v), mask;
  if (s.is("block-magnitude")) return keep_large_blocks(mask, s, v), mask;
  if (s.is("nmg")) return keep_greedily(mask, s, x), mask;
  if (s.is("nmgv")) return keep_tiles_greedily(mask, s, x), mask;
  return std::nullopt;
}

// The error in a sparsifier's mask; "" if it is valid.
inline std::string fault_of_mask(const Mask& got, const Spec& s, const Dense& x,
                                 const Hints& hints) {
  const bool is_exact = s.word("fit", "exact") == "exact";
  if (s.is("nmg") && is_exact) return fault_of_exact(got, s, x);
  if (s.is("nmgv") && is_exact) return fault_of_exact_tiles(got, s, x);
  const std::optional<Mask> expected = reference_mask(s, x, hints);
  if (!expected) return "there is no reference";
  return same_mask(got, *expected) ? "" : "another set";
}

}  // namespace sten::testing
