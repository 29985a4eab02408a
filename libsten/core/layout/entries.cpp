// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/entries.h"

#include <algorithm>
#include <bit>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/bcsr.h"
#include "libsten/core/layout/bitmask.h"
#include "libsten/core/layout/coo.h"
#include "libsten/core/layout/ell.h"
#include "libsten/core/layout/nm.h"
#include "libsten/core/layout/nmg_matching.h"
#include "libsten/core/layout/nmgv.h"

namespace sten {
namespace {

struct Slot {
  Index at, slot;  // a dense offset, and the index of its value
};

template <bool by_column>
std::vector<Slot> slots_of(const Compressed<by_column>& x) {
  const MatrixView v = x.view();
  std::vector<Slot> slots(x.values.size());
  for (Index l = 0; l + 1 < static_cast<Index>(x.ptr.size()); ++l)
    for (Index k = x.ptr[l]; k < x.ptr[l + 1]; ++k)
      slots[k] = {v.row_offset(l) + x.index[k] * v.col_stride, k};
  return slots;
}

std::vector<Slot> slots_of(const Coo& x) {
  const MatrixView v = MatrixView::of(x.extents, x.dims);
  std::vector<Slot> slots(x.values.size());
  for (Index k = 0; k < std::ssize(slots); ++k)
    slots[k] = {v.row_offset(x.row[k]) + x.col[k] * v.col_stride, k};
  return slots;
}

std::vector<Slot> slots_of(const Ell& x) {
  const MatrixView v = MatrixView::of(x.extents, x.dims);
  std::vector<Slot> slots;
  for (Index k = 0; k < x.values.size(); ++k)
    if (x.index[k] >= 0)
      slots.push_back({v.row_offset(k / x.width) + x.index[k] * v.col_stride, k});
  return slots;
}

std::vector<Slot> slots_of(const Bcsr& x) {
  const MatrixView v = MatrixView::of(x.extents, x.dims);
  const Index rows_of_batch = ceil_div(v.rows, x.h);
  std::vector<Slot> slots;
  for (Index l = 0; l + 1 < static_cast<Index>(x.ptr.size()); ++l)
    for (Index b = x.ptr[l]; b < x.ptr[l + 1]; ++b) {
      const Index row0 = l % rows_of_batch * x.h, col0 = x.col[b] * x.w;
      const Index start = v.batch_offset(l / rows_of_batch);
      for (Index r = row0; r < std::min(row0 + x.h, v.rows); ++r)
        for (Index c = col0; c < std::min(col0 + x.w, v.cols); ++c) {
          const Index k = (b * x.h + r - row0) * x.w + c - col0;
          if (!x.mask || bit_at(x.mask->data(), k))
            slots.push_back({start + r * v.row_stride + c * v.col_stride, k});
        }
    }
  return slots;
}

// Dense offsets of all values, for layouts in row-major order (without dims).
std::vector<Index> offsets_of(const Csr& x) {
  const Index cols = x.view().cols, lines = std::ssize(x.ptr) - 1;
  std::vector<Index> at(x.values.size());
  parallel_for(lines, std::max<Index>(1, lines / 64), [&](Index begin, Index end) {
    for (Index l = begin; l < end; ++l)
      for (Index k = x.ptr[l]; k < x.ptr[l + 1]; ++k) at[k] = l * cols + x.index[k];
  });
  return at;
}

std::vector<Index> offsets_of(const Coo& x) {
  const Index cols = MatrixView::of(x.extents).cols;
  std::vector<Index> at(x.values.size());
  for (Index k = 0; k < std::ssize(at); ++k) at[k] = x.row[k] * cols + x.col[k];
  return at;
}

std::vector<Index> offsets_of(const Bitmask& x) {
  std::vector<Index> at;
  at.reserve(x.values.size());
  const std::span<const std::uint8_t> mask = x.mask;
  for (Index byte = 0; byte < std::ssize(mask); ++byte)
    for (unsigned bits = mask[byte]; bits; bits &= bits - 1)
      at.push_back(byte * 8 + std::countr_zero(bits));
  return at;
}

template <class L>
requires requires(const L& x) { x.offsets(); }
std::vector<Slot> slots_of(const L& x) {
  std::vector<Slot> slots;
  const std::vector<Index> offsets = x.offsets();
  for (Index k = 0; k < std::ssize(offsets); ++k)
    if (offsets[k] >= 0) slots.push_back({offsets[k], k});
  return slots;
}

template <class L>
Entries sorted_entries(const L& x) {
  std::vector<Slot> slots = slots_of(x);
  const auto before = [](const Slot& a, const Slot& b) { return a.at < b.at; };
  if (!std::is_sorted(slots.begin(), slots.end(), before))
    std::sort(slots.begin(), slots.end(), before);
  Entries e{x.extents, std::vector<Index>(slots.size()),
            Values::uninitialized(x.values.dtype(), std::ssize(slots))};
  with_width(e.values.width(), [&]<class U>(U) {
    const auto from = x.values.template as<U>();
    const auto to = e.values.mutate<U>();
    for (std::size_t k = 0; k < slots.size(); ++k) {
      e.at[k] = slots[k].at;
      to[k] = from[slots[k].slot];
    }
  });
  return e;
}

template <class L>
Entries entries(const L& x) {
  if constexpr (requires {
                  offsets_of(x);
                  x.dims;
                })
    return x.dims.given() ? sorted_entries(x) : Entries{x.extents, offsets_of(x), x.values};
  else if constexpr (requires { offsets_of(x); })
    return {x.extents, offsets_of(x), x.values};
  else
    return sorted_entries(x);
}

template <class... L>
std::optional<Entries> entries_of_one(const Tensor& t) {
  std::optional<Entries> e;
  (void)((t.is<L>() && (e = entries(t.as<L>()), true)) || ...);
  return e;
}

}  // namespace

std::optional<Entries> entries_of(const Tensor& t) {
  if (t.device() != Device::cpu) return std::nullopt;
  return entries_of_one<Csr, Csc, Coo, Ell, Bcsr, Bitmask, Nm, Nmg, Nmgv>(t);
}

Entries kept_entries(const Entries& e, const Mask& keep) {
  const std::uint8_t* bits = keep.bits.data();
  const Index count = keep.count();
  Entries out{e.extents, std::vector<Index>(count), Values::uninitialized(e.values.dtype(), count)};
  with_width(e.values.width(), [&]<class U>(U) {
    const U* from = e.values.as<U>().data();
    U* to = out.values.mutate<U>().data();
    Index n = 0;
    for (Index k = 0; k < e.size(); ++k)
      if (bit_at(bits, k)) {
        out.at[n] = e.at[k];
        to[n++] = from[k];
      }
  });
  return out;
}

Dense values_at(const Entries& e, const std::vector<Index>& at) {
  Dense x = Dense::zeros(e.values.dtype(), {std::ssize(at)});
  std::size_t k = 0;
  for (Index i = 0; i < std::ssize(at); ++i) {
    while (k < e.at.size() && e.at[k] < at[i]) ++k;
    if (k < e.at.size() && e.at[k] == at[i]) x.values.put(i, e.values, static_cast<Index>(k));
  }
  return x;
}

bool is_far_larger_dense(const Tensor& t) {
  constexpr Index small = Index{64} << 20;
  const Index elements = size_of(t.shape()), width = width_of(t.dtype());
  return elements > small / width && elements / 4 > static_cast<Index>(t.bytes()) / width;
}

namespace {

// `what` names the layout in errors.
void check_chunks_hold(const Shape& extents, const std::vector<Index>& at, const Spec& nmg,
                       std::string_view what) {
  const Index axis = nmg.integer("axis", 0);
  const NmgGeometry geo = NmgGeometry::of(extents, nmg.integer("n"), nmg.integer("m"),
                                          nmg.integer("g"), axis, dims_of(nmg));
  struct EntryLocation {
    Index unit, strip, position;
    auto operator<=>(const EntryLocation&) const = default;
  };
  std::vector<EntryLocation> positions;
  positions.reserve(at.size());
  for (const Index offset : at) {
    const auto [line, strip] = geo.view.place(offset);
    const Index batch = line / geo.view.rows, row = line % geo.view.rows;
    positions.push_back({(batch * geo.row_blocks + row / geo.m) * geo.chunks + strip / geo.strips,
                         strip % geo.strips, row % geo.m});
  }
  std::sort(positions.begin(), positions.end());
  const auto table = PatternTable::get(geo.n, geo.m);
  ChunkMatcher matcher(*table, geo.g);
  ChunkPositions kept(geo);
  for (std::size_t k = 0; k < positions.size();) {
    const NmgUnit unit(geo, positions[k].unit);
    kept.clear();
    Index used = 0;  // strips with a position
    for (const std::size_t first = k;
         k < positions.size() && positions[k].unit == positions[first].unit; ++k) {
      used += k == first || positions[k].strip != positions[k - 1].strip;
      if (!kept.keep(positions[k].strip, positions[k].position))
        refuse_strip(what, unit, axis, geo.n, positions[k].strip);
    }
    // Up to g strips always match: a pattern can take all of them.
    if (used > geo.g && !matcher.match(kept)) refuse_chunk(what, unit, axis, geo.g);
  }
}

}  // namespace

void check_nmg_holds(const Shape& extents, const std::vector<Index>& at, const Spec& spec) {
  if (!spec.is(Nmgv::name)) {
    Nmg::check(spec);
    return check_chunks_hold(extents, at, spec, spec.str());
  }
  Nmgv::check(spec);
  const NmgvGeometry geo = with_parameters<Nmgv>(extents, spec).geometry();
  std::vector<Index> tiles(at.size());
  std::transform(at.begin(), at.end(), tiles.begin(), [&](Index i) { return geo.tile_of(i); });
  std::sort(tiles.begin(), tiles.end());
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  check_chunks_hold(geo.tile_shape(), tiles, Nmgv::tile_spec(spec), Nmgv::text_of_tiles(spec));
}

}  // namespace sten
