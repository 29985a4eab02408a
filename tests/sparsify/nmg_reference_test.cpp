// SPDX-License-Identifier: Apache-2.0
// References of the sparsifiers nmg and nmgv, whose exact fits have several valid masks.
#include <doctest/doctest.h>

#include "tests/support/nmg_judge.h"
#include "tests/support/sparsifier_reference.h"

using namespace sten;
using namespace sten::testing;

namespace {

// The paper's greedy fit, with sums in the precision in which values are ranked.
void keep_greedily(Mask& mask, const Spec& s, const Dense& x) {
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
std::string fault_of_exact(const Mask& mask, const Spec& s, const Dense& x) {
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
std::string fault_of_exact_tiles(const Mask& mask, const Spec& s, const Dense& x) {
  const SummedTiles tiles(s, x);
  Mask kept = Mask::none(tiles.sums.extents);
  for (Index t = 0; t < std::ssize(tiles.elements); ++t) {
    kept.set(t, mask[tiles.elements[t][0]]);
    for (const Index i : tiles.elements[t])
      if (mask[i] != kept[t]) return "a part of a tile stays";
  }
  return fault_of_exact(kept, tiles.spec, tiles.sums);
}

void keep_tiles_greedily(Mask& mask, const Spec& s, const Dense& x) {
  const SummedTiles tiles(s, x);
  Mask kept = Mask::none(tiles.sums.extents);
  keep_greedily(kept, tiles.spec, tiles.sums);
  for (Index t = 0; t < std::ssize(tiles.elements); ++t)
    for (const Index i : tiles.elements[t]) mask.set(i, kept[t]);
}

// The errors of exact fits by `fault`; other fits have one valid mask.
auto if_exact(std::string (*fault)(const Mask&, const Spec&, const Dense&)) {
  return [fault](const Mask& mask, const Selection& s) -> std::optional<std::string> {
    if (s.spec.word("fit", "exact") != "exact") return std::nullopt;
    return fault(mask, s.spec, s.x);
  };
}
auto greedily(void (*keep)(Mask&, const Spec&, const Dense&)) {
  return [keep](const Selection& s) {
    Mask mask = Mask::none(s.x.extents);
    keep(mask, s.spec, s.x);
    return mask;
  };
}
const bool has_nmg_reference =
    add_reference("nmg", Kind::materializing, greedily(keep_greedily), if_exact(fault_of_exact));
const bool has_nmgv_reference = add_reference(
    "nmgv", Kind::materializing, greedily(keep_tiles_greedily), if_exact(fault_of_exact_tiles));

}  // namespace

TEST_CASE("the exact-fit check rejects greedy fits and patterns used more than g times") {
  Dice dice(6);
  const Dense x = normals(dice, {8, 96});
  const Spec exact = Spec::parse("nmg:n=2,m=4,g=4"),
             greedy = Spec::parse("nmg:n=2,m=4,g=4,fit=greedy");
  Mask mask = registry().sparsifier(exact).select(x);
  CHECK(fault_of_mask(mask, exact, x, {}) == "");
  for (int row = 0; row < 4; ++row)
    for (int col = 1; col < 5; ++col) mask.set(row * 96 + col, mask[row * 96]);
  CHECK(fault_of_mask(mask, exact, x, {}) == "not g of each pattern");
  CHECK(fault_of_mask(registry().sparsifier(greedy).select(x), exact, x, {}) ==
        "another fit keeps more");
}
