// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/patterns.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/layout/entries.h"
#include "libsten/core/layout/nm.h"
#include "libsten/core/layout/nmgv.h"
#include "libsten/core/registry/registry.h"
#include "libsten/programs/measure/measure.h"

namespace sten {
namespace {

struct Blocks {
  Index m;
  std::vector<Index> ns;  // of the patterns to find, ascending
};
const std::vector<Blocks> looked_for = {
    {2, {1}}, {4, {1, 2}}, {8, {1, 2, 4}}, {10, {1}}, {20, {1}}};
constexpr Index groups[] = {1, 4, 16};

// As for_each_block() for a list of positions, in the same order; skips blocks without nonzeros.
template <class F>
void for_each_listed_block(const std::vector<Index>& at, const MatrixView& v, Index m, F&& f) {
  const Index blocks = ceil_div(v.cols, m);
  const bool along_rows = v.col_stride == 1;
  std::vector<Index> keys;
  keys.reserve(at.size());
  for (const Index offset : at) {
    const auto [line, col] = v.place(offset);
    keys.push_back(along_rows ? line * blocks + col / m
                              : (line / v.rows * blocks + col / m) * v.rows + line % v.rows);
  }
  if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
  for (std::size_t k = 0, end = 0; k < keys.size(); k = end) {
    while (end < keys.size() && keys[end] == keys[k]) ++end;
    const Index key = keys[k], batch = key / v.rows / blocks;
    const auto n = static_cast<Index>(end - k);
    if (!(along_rows ? f(key / blocks, key % blocks, n)
                     : f(batch * v.rows + key % v.rows, key / v.rows % blocks, n)))
      return;
  }
}

// Calls f(line, block, nonzeros) for the blocks of m along each line until f returns false.
template <class F>
void for_each_block(const Positions& nonzero, const MatrixView& v, Index m, F&& f) {
  if (nonzero.is_listed) return for_each_listed_block(nonzero.at, v, m, f);
  if (nonzero.size() == 0) return;  // with an extent of 0, the others may be huge
  const std::uint8_t* bits = nonzero.mask.bits.data();
  const Index blocks = ceil_div(v.cols, m);
  if (v.col_stride == 1) {
    for (Index l = 0; l < v.batches * v.rows; ++l)
      for (Index b = 0, start = v.row_offset(l); b < blocks; ++b)
        if (!f(l, b, count_bits(bits, start + b * m, start + std::min((b + 1) * m, v.cols))))
          return;
    return;
  }
  // Down columns, visits the blocks of all lines together to read memory in order.
  std::vector<Index> counts(v.rows);
  for (Index batch = 0; batch < v.batches; ++batch)
    for (Index b = 0; b < blocks; ++b) {
      std::fill(counts.begin(), counts.end(), 0);
      for (Index c = b * m; c < std::min((b + 1) * m, v.cols); ++c) {
        const Index start = v.batch_offset(batch) + c * v.col_stride;
        for (Index r = 0; r < v.rows; ++r) counts[r] += bit_at(bits, start + r * v.row_stride);
      }
      for (Index r = 0; r < v.rows; ++r)
        if (!f(batch * v.rows + r, b, counts[r])) return;
    }
}

// The maximum of nonzeros in a block; may stop at a value above `enough`.
Index fullest_block(const Positions& nonzero, const MatrixView& v, Index m, Index enough) {
  Index most = 0;
  for_each_block(nonzero, v, m, [&](Index, Index, Index n) {
    most = std::max(most, n);
    return most <= enough;
  });
  return most;
}

// The reason why the layout cannot pack the positions; none if it can.
std::optional<std::string> refusal(const Positions& nonzero, const Spec& layout) {
  const bool is_nmg = layout.is(Nmg::name) || layout.is(Nmgv::name);
  if (nonzero.is_listed && !is_nmg)
    fail("shape {} is too sparse for {}", to_string(nonzero.extents), layout.str());
  try {
    if (nonzero.is_listed)
      check_nmg_holds(nonzero.extents, nonzero.at, layout);
    else
      registry().pack(Dense::zeros(DType::U8, nonzero.extents), nonzero.mask, layout);
    return std::nullopt;
  } catch (const Error& e) {
    return e.what();
  }
}

// Whether pattern a implies pattern b.
bool implies(const Pattern& a, const Pattern& b) {
  if (a.axis != b.axis) return false;
  if (b.g > 0) return a.n == b.n && a.m == b.m && a.g > 0 && a.g < b.g;
  if (b.m % a.m == 0 && b.n >= a.n * (b.m / a.m)) return a.n != b.n || a.m != b.m || a.g > 0;
  if (a.m % b.m == 0 && a.m != b.m && b.n >= a.n) return true;
  // Bounds the blocks of a.m that a block of b.m overlaps in any alignment.
  return a.m != b.m && b.n >= a.n * ((b.m + a.m - 2) / a.m + 1);
}

bool implied(const std::vector<Pattern>& held, const Pattern& p) {
  return std::any_of(held.begin(), held.end(), [&](const Pattern& q) { return implies(q, p); });
}

}  // namespace

std::string Pattern::str() const {
  std::string text = fmt::format("{}:{}", n, m);
  if (g) text += fmt::format(":{}", g);
  return axis == (g ? 0 : 1) ? text : fmt::format("{} axis={}", text, axis);
}

Spec Pattern::layout() const {
  Spec s(g ? Nmg::name : Nm::name);
  s.set("n", n).set("m", m);
  if (g) s.set("g", g);
  return s.set("axis", axis);
}

bool is_pattern(std::string_view layout) {
  return layout == Nm::name || layout == Nmg::name || layout == Nmgv::name;
}

std::vector<Pattern> held_patterns(const Dense& x) {
  return held_patterns(Positions::of(value_mask(x)));
}

std::vector<Pattern> held_patterns(const Positions& nonzero) {
  std::vector<Pattern> held;
  if (nonzero.extents.size() < 2 || nonzero.size() == 0) return held;
  for (const Index axis : {Index{1}, Index{0}}) {
    const MatrixView v = MatrixView::of(nonzero.extents, {}, axis == 0);
    for (const Blocks& blocks : looked_for) {
      if (v.cols < blocks.m) continue;
      const Index most = fullest_block(nonzero, v, blocks.m, blocks.ns.back());
      if (most == 0) return {};
      for (const Index n : blocks.ns)
        if (most <= n) held.push_back({n, blocks.m, 0, axis});
    }
  }
  // Groups are tried for the strictest patterns only: filled with extra positions, the others would
  // be n:m:g, too.
  const std::vector<Pattern> all = held;
  const auto kept = static_cast<double>(nonzero.count());
  const auto elements = static_cast<double>(nonzero.size());
  for (const Pattern& p : all) {
    // Nearly empty patterns are skipped, whose groups could be filled in many ways.
    const auto filled = kept * static_cast<double>(p.m),
               slots = elements * static_cast<double>(p.n);
    if (implied(all, p) || 10 * filled < 9 * slots) continue;
    for (const Index g : groups) {
      const Pattern grouped{p.n, p.m, g, p.axis};
      const NmgGeometry geo = NmgGeometry::of(nonzero.extents, p.n, p.m, g, p.axis, {});
      if (geo.strips <= geo.view.cols && !refusal(nonzero, grouped.layout()))
        held.push_back(grouped);
    }
  }
  return held;
}

std::string strictest(const std::vector<Pattern>& held) {
  std::string text;
  for (const Pattern& p : held) {
    if (implied(held, p)) continue;
    text += (text.empty() ? "" : ", ") + p.str();
  }
  return text;
}

std::optional<std::string> breach(const Dense& x, const Spec& pattern) {
  return breach(Positions::of(value_mask(x)), pattern);
}

std::optional<std::string> breach(const Positions& nonzero, const Spec& pattern) {
  const Dims dims = dims_of(pattern);
  try {
    MatrixView::of(nonzero.extents, dims);
  } catch (const Error& e) {
    return e.what();
  }
  if (nonzero.size() == 0) return std::nullopt;
  if (!pattern.is(Nm::name)) return refusal(nonzero, pattern);
  const Index n = pattern.integer("n"), m = pattern.integer("m"), axis = pattern.integer("axis", 1);
  const MatrixView v = MatrixView::of(nonzero.extents, dims, axis == 0);
  Index broken = 0;
  std::string first;
  for_each_block(nonzero, v, m, [&](Index l, Index b, Index count) {
    if (count <= n) return true;
    if (broken++ == 0)
      first = fmt::format("{} {}, {} {} to {}: {} nonzeros", axis == 1 ? "row" : "column", l,
                          axis == 1 ? "columns" : "rows", b * m, std::min((b + 1) * m, v.cols) - 1,
                          count);
    return true;
  });
  if (!broken) return std::nullopt;
  return fmt::format("{} of {} blocks break {}, first {}", broken,
                     v.batches * v.rows * ceil_div(v.cols, m), pattern.str(), first);
}

}  // namespace sten
