// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nmgv.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/layout/nmg_slots.h"
#include "libsten/core/tensor/layout.h"
#include "libsten/core/tensor/occupancy.h"

namespace sten {
namespace {

// Limits the zeros that are stored for a single kept element.
constexpr Index max_tile = Index{1} << 16;
void check_tile(Index v, Index w) {
  if (v < 1 || w < 1) fail_usage("v={},w={}: expected v >= 1 and w >= 1", v, w);
  if (v > max_tile / w)
    fail_usage("v={},w={}: a tile must have at most {} elements", v, w, max_tile);
}

// Whether the parts are large and far larger than the tensor.
bool is_far_larger(Index slots, Index elements) {
  constexpr Index always = Index{1} << 25, most_times = 16;
  return slots > always && slots / most_times > elements;
}

}  // namespace

NmgvGeometry NmgvGeometry::of(const Shape& shape, Index n, Index m, Index g, Index v, Index w,
                              Index axis, Dims dims) {
  check_tile(v, w);
  const MatrixView view = MatrixView::of(shape, dims);
  const Index tile_rows = ceil_div(view.rows, v), tile_cols = ceil_div(view.cols, w);
  return {
      view,      v,
      w,         tile_rows,
      tile_cols, NmgGeometry::of({view.batches, tile_rows, tile_cols}, n, m, g, axis, tile_dims())};
}

NmgvTile NmgvGeometry::tile(Index at) const {
  if (at < 0) return {};
  const Index row0 = at / tile_cols % tile_rows * v, col0 = at % tile_cols * w;
  return {view.batch_offset(at / (tile_rows * tile_cols)) + row0 * view.row_stride +
              col0 * view.col_stride,
          std::min(v, view.rows - row0), std::min(w, view.cols - col0)};
}

Index NmgvGeometry::tile_of(Index offset) const {
  const auto [line, col] = view.place(offset);
  const Index batch = line / view.rows, row = line % view.rows;
  return (batch * tile_rows + row / v) * tile_cols + col / w;
}

template <class F>
void NmgvGeometry::for_each_tile(F&& f) const {
  if (view.batches * view.rows * view.cols == 0) return;  // the other extents may be huge
  const Index grain = std::max<Index>(1, mask_grain / (v * view.cols));
  parallel_for(view.batches * tile_rows, grain, [&](Index begin, Index end) {
    for (Index at = begin * tile_cols; at < end * tile_cols; ++at) f(at, tile(at));
  });
}

// Rows of tiles share bytes of both masks.
Mask NmgvGeometry::tiles_of(const Mask& elements) const {
  Mask kept = Mask::none(tile_shape());
  std::uint8_t* to = kept.bits.mutate();
  const std::uint8_t* bits = elements.bits.data();
  const auto keeps = [&](const NmgvTile& t) {
    for (Index r = 0; r < t.rows; ++r)
      for (Index c = 0; c < t.cols; ++c)
        if (bit_at(bits, t.offset + r * view.row_stride + c * view.col_stride)) return true;
    return false;
  };
  for_each_tile([&](Index at, const NmgvTile& t) {
    if (keeps(t)) set_bit_shared(to, at);
  });
  return kept;
}

Mask NmgvGeometry::elements_of(const Shape& shape, const Mask& stored_tiles) const {
  Mask kept = Mask::none(shape);
  std::uint8_t* to = kept.bits.mutate();
  const std::uint8_t* bits = stored_tiles.bits.data();
  for_each_tile([&](Index at, const NmgvTile& t) {
    if (!bit_at(bits, at)) return;
    for (Index r = 0; r < t.rows; ++r)
      for (Index c = 0; c < t.cols; ++c)
        set_bit_shared(to, t.offset + r * view.row_stride + c * view.col_stride);
  });
  return kept;
}

void NmgvGeometry::check_padding(const Shape& shape) const {
  const Index slots = checked_size({tiles.units(), tiles.strips, tiles.n, v * w});
  if (size_of(shape) > 0 && is_far_larger(slots, size_of(shape)))
    fail("n={},m={},g={} of tiles of {} x {}: {} values are far too many for shape {}", tiles.n,
         tiles.m, tiles.g, v, w, slots, to_string(shape));
}

void Nmgv::check(const Spec& spec) {
  check_tile(spec.integer("v"), spec.integer("w", usual_w));
  dims_of(spec);
  Nmg::check(tile_spec(spec));
}

Spec Nmgv::tile_spec(const Spec& spec) {
  Spec s(Nmg::name);
  s.set("n", spec.integer("n")).set("m", spec.integer("m")).set("g", spec.integer("g"));
  return s.set("axis", spec.integer("axis", 0)).set("dims", NmgvGeometry::tile_dims().str());
}

bool Nmgv::includes(const Spec& spec, const Spec& other) {
  return other.is(name) && Nmg::includes(tile_spec(spec), tile_spec(other)) &&
         other.word("dims", "") == spec.word("dims", "") &&
         other.integer("v") == spec.integer("v") &&
         other.integer("w", usual_w) == spec.integer("w", usual_w);
}

Shape Nmgv::part_shape(bool values) const {
  const NmgvGeometry geo = geometry();
  Shape s = geo.view.part({geo.tiles.row_blocks, geo.tiles.chunks, geo.tiles.patterns, g});
  if (values) {
    s.push_back(n);
    s.push_back(v * w);
  }
  checked_size(s);
  return s;
}

std::optional<Index> Nmgv::bytes(const Spec& spec, const Occupancy& of) {
  const auto out = with_parameters<Nmgv>(of.positions().extents, spec);
  const Index slots = size_of(out.part_shape(true));
  if (of.elements() > 0 && is_far_larger(slots, of.elements())) return std::nullopt;
  return slots * of.width() +
         size_of(out.part_shape(false)) * width_of(out.geometry().tiles.index_dtype());
}

template <class F>
void Nmgv::for_each_kept(F&& f) const {
  const NmgvGeometry geo = geometry();
  const Index each = v * w;
  const auto visit = [&](Index slot, Index at, const NmgUnit&) { f(slot * each, geo.tile(at)); };
  for_each_nmg_slot(geo.tiles, index, visit, each);
}

Nmgv Nmgv::of_tiles(const Nmg& tiles, const Dense& x, Index v, Index w, Dims dims,
                    const Mask* keep) {
  Nmgv out{x.extents, tiles.n, tiles.m, tiles.g, v, w, tiles.axis, dims, {}, tiles.index};
  out.values = Values::uninitialized(x.dtype(), size_of(out.part_shape(true)));
  const MatrixView view = MatrixView::of(x.extents, dims);
  const std::uint8_t* bits = keep ? keep->bits.data() : nullptr;
  with_width(x.values.width(), [&]<class U>(U) {
    const U* from = x.values.as<U>().data();
    U* to = out.values.mutate<U>().data();
    out.for_each_kept([&](Index slot, const NmgvTile& t) {
      U* next = to + slot;
      for (Index r = 0; r < t.rows; ++r, next += w) {
        const Index start = t.offset + r * view.row_stride;
        for (Index c = 0; c < t.cols; ++c) {
          const Index i = start + c * view.col_stride;
          next[c] = !bits || bit_at(bits, i) ? from[i] : U{0};
        }
        std::fill(next + t.cols, next + w, U{0});
      }
      std::fill(next, to + slot + v * w, U{0});
    });
  });
  return out;
}

Nmgv Nmgv::pack(const Dense& x, const Mask& keep, const Spec& spec) {
  check(spec);
  check_same_shape(x, keep);
  const auto out = with_parameters<Nmgv>(x.extents, spec);
  const NmgvGeometry geo = out.geometry();
  geo.check_padding(x.extents);
  const Nmg tiles = Nmg::pack(Dense::zeros(DType::U8, geo.tile_shape()), geo.tiles_of(keep),
                              tile_spec(spec), text_of_tiles(spec));
  return of_tiles(tiles, x, out.v, out.w, out.dims, &keep);
}

Dense Nmgv::to_dense() const {
  const MatrixView view = MatrixView::of(extents, dims);
  Dense x = Dense::zeros(values.dtype(), extents);
  with_width(values.width(), [&]<class U>(U) {
    const U* from = values.as<U>().data();
    U* to = x.values.mutate<U>().data();
    for_each_kept([&](Index slot, const NmgvTile& t) {
      for (Index r = 0; r < t.rows; ++r)
        for (Index c = 0; c < t.cols; ++c)
          to[t.offset + r * view.row_stride + c * view.col_stride] = from[slot + r * w + c];
    });
  });
  return x;
}

Mask Nmgv::stored() const {
  const NmgvGeometry geo = geometry();
  const Values none(DType::U8, checked_size({geo.tiles.units(), geo.tiles.strips, n}));
  const Nmg tiles{geo.tile_shape(), n, m, g, axis, NmgvGeometry::tile_dims(), none, index};
  return geo.elements_of(extents, tiles.stored());
}

std::vector<Index> Nmgv::offsets() const {
  const MatrixView view = MatrixView::of(extents, dims);
  std::vector<Index> all(values.size(), -1);
  for_each_kept([&](Index slot, const NmgvTile& t) {
    for (Index r = 0; r < t.rows; ++r)
      for (Index c = 0; c < t.cols; ++c)
        all[slot + r * w + c] = t.offset + r * view.row_stride + c * view.col_stride;
  });
  return all;
}

double Nmgv::padding() const {
  const NmgvGeometry geo = geometry();
  const auto area = static_cast<double>(geo.view.rows) * static_cast<double>(geo.view.cols);
  const auto padded = static_cast<double>(geo.tiles.row_blocks * m * v * w) *
                      static_cast<double>(geo.tiles.chunks * geo.tiles.strips);
  return area > 0 ? padded / area - 1 : 0;
}

void Nmgv::loaded() const {
  check_nmg_index(geometry().tiles, index);
  with_width(values.width(), [&]<class U>(U) {
    const U* stored = values.as<U>().data();
    for_each_kept([&](Index slot, const NmgvTile& t) {
      for (Index i = 0; i < v * w; ++i)
        if ((i / w >= t.rows || i % w >= t.cols) && stored[slot + i] != U{0})
          fail("stored tile {}: a value in padding is not 0", slot / (v * w));
    });
  });
}

}  // namespace sten
