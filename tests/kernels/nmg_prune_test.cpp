// SPDX-License-Identifier: Apache-2.0
// n:m:g fits of whole tensors over grids, as on a GPU, compared with those of libsten.
#include <doctest/doctest.h>

#include "kernels/block/checked_grid.h"
#include "kernels/block/nmg/nmg_prune.h"
#include "libsten/core/layout/nmg_patterns.h"
#include "libsten/core/sparsify/nmg_fit.h"
#include "tests/support/device_views.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using kernels::FloatKind;
using kernels::NmgFitRule;

namespace {

// A tensor and its matrix view.
struct PruneCase {
  Dense x;
  NmgFit fit;
  std::string name;
  NmgGeometry geometry() const {
    return NmgGeometry::of(x.extents, fit.n, fit.m, fit.g, fit.axis, fit.dims);
  }
};

// Arbitrary bits; or few distinct values, far apart or adjacent, for ties.
void fill(Dice& dice, Dense& x) {
  const Index kind = dice.below(6), top = Index{1} << (8 * x.values.width() - 2);
  with_width(x.values.width(), [&]<class U>(U) {
    const U sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
    const auto near = static_cast<U>(dice.below(top));
    for (U& v : x.values.mutate<U>()) {
      if (kind == 0) return;
      if (kind <= 3) v = static_cast<U>(near + static_cast<U>(dice.below(kind == 1 ? 3 : top / 8)));
      if (kind == 2 && dice.below(3) == 0) v = 0;
      if (kind >= 4) v = static_cast<U>(dice.below(kind == 4 ? 4 : 2));
      if (dice.below(2)) v |= sign;
    }
  });
  if (x.dtype() == DType::F32 && dice.below(2))
    for (float& v : x.values.mutate<float>()) v = static_cast<float>(dice.normal());
}

PruneCase any_prune_case(Dice& dice, FitMethod method) {
  struct Format {
    Index n, m, g;
  };
  static const std::vector<Format> formats{
      {1, 4, 1},  {1, 4, 16}, {2, 4, 1}, {2, 4, 2},  {2, 4, 16}, {1, 2, 3}, {2, 3, 4},
      {3, 6, 1},  {2, 5, 3},  {1, 8, 8}, {1, 10, 2}, {2, 6, 2},  {3, 4, 9}, {1, 1, 5},
      {1, 4, 32}, {1, 3, 40}, {4, 4, 7}, {7, 8, 2},  {1, 7, 5},  {3, 5, 2}, {1, 4, 70}};
  const Format f = dice.one_of(formats);
  const DType dtype = dice.below(3) ? dice.one_of(prunable_dtypes()) : DType::F32;
  const Index strips = PatternTable::get(f.n, f.m)->count() * f.g;
  Index rows = 1 + dice.below(3 * f.m), cols = 1 + dice.below(3 * strips);
  if (dice.below(2)) rows = f.m * (1 + dice.below(2)), cols = strips * (1 + dice.below(3));
  PruneCase c{Dense{}, NmgFit{f.n, f.m, f.g, 0, {}, method}, {}};
  if (dice.below(2)) {
    c.fit.axis = 1;
    std::swap(rows, cols);
  }
  Shape shape{rows, cols};
  if (dice.below(4) == 0) {  // a batch of matrices, not all of them contiguous
    shape = {2, rows, cols};
    c.fit.dims = Dims{1, 2};
    if (dice.below(2)) shape = {rows, 2, cols, 1 + dice.below(2)}, c.fit.dims = Dims{0, 2};
  }
  c.x = any_bits(dice, dtype, shape);
  fill(dice, c.x);
  c.name = fmt::format("{}:{}:{} axis {} of {} {}", f.n, f.m, f.g, c.fit.axis, to_string(shape),
                       name_of(dtype));
  return c;
}

struct Parts {
  Nmg nmg;
  Mask mask;
};

void* data_of(Values& v) {
  return with_width(v.width(), [&]<class U>(U) -> void* { return v.mutate<U>().data(); });
}

template <class Grid>
Parts pruned_by(Grid& grid, const PruneCase& c, NmgFitRule rule) {
  const NmgFit& f = c.fit;
  Parts to{Nmg::unwritten(c.x.dtype(), c.x.extents, f.n, f.m, f.g, f.axis, f.dims),
           Mask::none(c.x.extents)};
  kernels::NmgParts parts;
  parts.values = data_of(to.nmg.values);
  parts.index = data_of(to.nmg.index);
  parts.bits = to.mask.bits.mutate();
  const auto table = PatternTable::get(f.n, f.m);
  kernels::nmg_prune(grid, table->format(f.g), matrix_of(c.geometry().view),
                     c.x.values.bytes().data(), kind_of(c.x.dtype()), rule, parts);
  return to;
}

template <class Grid>
Dense unpacked_by(Grid& grid, const Nmg& x) {
  Dense out = Dense::zeros(x.values.dtype(), x.extents);
  const auto table = PatternTable::get(x.n, x.m);
  kernels::nmg_unpack(grid, table->format(x.g), matrix_of(x.geometry().view),
                      x.values.bytes().data(), static_cast<int>(x.values.width()),
                      x.index.bytes().data(), data_of(out.values));
  return out;
}

bool same_values(const Values& a, const Values& b) {
  return a.dtype() == b.dtype() &&
         std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

void check(const PruneCase& c, const Parts& expected, const Parts& got) {
  if (!same_values(got.nmg.values, expected.nmg.values)) FAIL_CHECK(c.name << ": other values");
  if (!same_values(got.nmg.index, expected.nmg.index)) FAIL_CHECK(c.name << ": another index");
  if (!same_mask(got.mask, expected.mask)) FAIL_CHECK(c.name << ": other bits");
}

// Checks random tensors with at least that many chunks in total.
void check_chunks(FitMethod method, NmgFitRule rule, Index chunks) {
  Dice dice(11);
  kernels::SerialGrid serial;
  kernels::CheckedGrid checked(12);
  for (Index round = 0; chunks > 0; ++round) {
    const PruneCase c = any_prune_case(dice, method);
    chunks -= c.geometry().units();
    Parts expected{Nmg{}, Mask{}};
    expected.nmg = c.fit.fit(c.x, &expected.mask);
    check(c, expected, pruned_by(serial, c, rule));
    const Dense dense = expected.nmg.to_dense();
    if (!same_bits(unpacked_by(serial, expected.nmg), dense)) FAIL_CHECK(c.name << ": unpacked");
    if (round % 16 != 0) continue;
    check(c, expected, pruned_by(checked, c, rule));
    if (!same_bits(unpacked_by(checked, expected.nmg), dense)) FAIL_CHECK(c.name << ": unpacked");
  }
  for (const std::string& what : checked.reports()) FAIL_CHECK(what);
}

}  // namespace

TEST_CASE("block kernels prune to n:m:g with fit=exact, and unpack, bit-identically to the CPU") {
  check_chunks(FitMethod::exact, NmgFitRule::exact, 2000);
}

TEST_CASE("block kernels prune to n:m:g with fit=swaps, and unpack, bit-identically to the CPU") {
  check_chunks(FitMethod::swaps, NmgFitRule::swaps, 1000);
}

TEST_CASE("nmg_rank computes the index of a pattern from its rows") {
  for (const auto& [n, m] : std::vector<std::pair<Index, Index>>{
           {1, 1}, {1, 9}, {8, 9}, {2, 4}, {3, 6}, {4, 9}, {5, 9}, {2, 40}, {3, 3}}) {
    const auto table = PatternTable::get(n, m);
    for (Index p = 0; p < table->count(); ++p)
      CHECK(kernels::nmg_rank((*table)[p], n, m, table->count()) == p);
  }
}
