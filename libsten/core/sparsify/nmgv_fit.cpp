// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/nmgv_fit.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "libsten/core/layout/entries.h"

namespace sten {

NmgvGeometry NmgvFit::geometry(const Shape& shape) const {
  const NmgvGeometry geo =
      NmgvGeometry::of(shape, tiles.n, tiles.m, tiles.g, v, w, tiles.axis, dims);
  geo.check_padding(shape);
  return geo;
}

Dense NmgvFit::sums(const Dense& x) const {
  sparsify_detail::check_prunable(x.dtype());
  const NmgvGeometry geo = geometry(x.extents);
  Dense out = Dense::zeros(x.dtype() == DType::F64 ? DType::F64 : DType::F32, geo.tile_shape());
  if (x.size() == 0) return out;
  with_float(x.dtype(), [&]<class E>(E) {
    using Score = typename E::Score;
    const auto* from = x.values.as<typename E::Bits>().data();
    Score* to = out.values.mutate<Score>().data();
    const MatrixView& view = geo.view;
    const Index grain = std::max<Index>(1, mask_grain / (v * view.cols));
    parallel_for(view.batches * geo.tile_rows, grain, [&](Index begin, Index end) {
      for (Index l = begin; l < end; ++l) {
        const NmgvTile first = geo.tile(l * geo.tile_cols);
        Score* line = to + l * geo.tile_cols;
        for (Index r = 0; r < first.rows; ++r) {
          const auto* row = from + first.offset + r * view.row_stride;
          for (Index t = 0, c = 0; t < geo.tile_cols; ++t) {
            Score sum = line[t];
            for (const Index end_c = std::min(c + w, view.cols); c < end_c; ++c)
              sum += std::abs(E::decode(row[c * view.col_stride]));
            line[t] = sum;
          }
        }
      }
    });
  });
  return out;
}

Mask NmgvFit::select(const Dense& x, const Hints& hints) const {
  return geometry(x.extents).elements_of(x.extents, tiles.select(sums(x), hints));
}

Mask NmgvFit::select_stored(const Entries& x, const Hints& hints) const {
  const NmgvGeometry geo = geometry(x.extents);
  struct TilePosition {
    Index tile, line, col, entry;
  };
  std::vector<TilePosition> positions(x.at.size());
  for (Index k = 0; k < x.size(); ++k) {
    const auto [line, col] = geo.view.place(x.at[k]);
    positions[k] = {geo.tile_of(x.at[k]), line, col, k};
  }
  // Sums are added in the order of the dense form, for every dims.
  std::sort(positions.begin(), positions.end(), [](const TilePosition& a, const TilePosition& b) {
    return std::tie(a.tile, a.line, a.col) < std::tie(b.tile, b.line, b.col);
  });
  Entries sums{geo.tile_shape(), {}, {}};
  for (const TilePosition& p : positions)
    if (sums.at.empty() || sums.at.back() != p.tile) sums.at.push_back(p.tile);
  sums.values = Values(x.values.dtype() == DType::F64 ? DType::F64 : DType::F32, sums.size());
  with_float(x.values.dtype(), [&]<class E>(E) {
    using Score = typename E::Score;
    const auto from = x.values.as<typename E::Bits>();
    const auto to = sums.values.mutate<Score>();
    Index t = 0;
    for (const TilePosition& p : positions) {
      t += sums.at[t] != p.tile;
      to[t] += std::abs(E::decode(from[p.entry]));
    }
  });
  const Mask kept = tiles.select_stored(sums, hints);
  Mask mask = Mask::none({x.size()});
  std::uint8_t* bits = mask.bits.mutate();
  Index t = 0;
  for (const TilePosition& p : positions) {
    t += sums.at[t] != p.tile;
    if (kept[t]) set_bit(bits, p.entry);
  }
  return mask;
}

Nmgv NmgvFit::fit(const Dense& x, Mask* kept) const {
  Mask stored_tiles;
  const Nmg placed = tiles.fit(sums(x), kept ? &stored_tiles : nullptr);
  if (kept) *kept = geometry(x.extents).elements_of(x.extents, stored_tiles);
  return Nmgv::of_tiles(placed, x, v, w, dims);
}

NmgvFit NmgvFit::make(const Spec& spec) {
  spec.check_keys({"n", "m", "g", "v", "w", "axis", "dims", "fit"});
  Nmgv::check(spec);
  Spec of_tiles = Nmgv::tile_spec(spec);
  if (spec.has("fit")) of_tiles.set("fit", std::string(spec.word("fit", "")));
  return {NmgFit::make(of_tiles), spec.integer("v"), spec.integer("w", Nmgv::usual_w),
          dims_of(spec)};
}

}  // namespace sten
