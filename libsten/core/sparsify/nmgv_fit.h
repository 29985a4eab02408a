// SPDX-License-Identifier: Apache-2.0
// The fit of n:m:g of tiles: chooses a pattern for each strip of tiles.
#pragma once
#include "libsten/core/layout/nmgv.h"
#include "libsten/core/sparsify/nmg_fit.h"

namespace sten {

// NmgFit on the tiles' sums of magnitudes: every strip keeps the n tiles of its pattern, including
// zeros. Sums are row-major within a tile, in float, for F64 in double.
struct NmgvFit {
  static constexpr const char* name = "nmgv";
  static constexpr SpecDoc doc{
      "nmgv:n=1,m=4,g=2,v=32[,w=2][,axis=0][,fit=exact]",
      "whole tiles. The sums of the magnitudes in each tile form a smaller matrix. `nmg` selects "
      "elements of this matrix, and the tiles of the selected elements are kept. The magnitudes of "
      "a tile are added row by row, in float32 (F64: in double)"};
  static constexpr const char* own_keys[] = {"fit"};
  NmgFit tiles;  // of NmgvGeometry::tiles
  Index v = 1, w = Nmgv::usual_w;
  Dims dims;
  Share share() const { return tiles.share(); }
  std::string_view fit_name() const { return tiles.fit_name(); }
  NmgvGeometry geometry(const Shape& shape) const;
  // The sums of the tiles, F32 or F64, [batches, rows of tiles, columns of tiles].
  Dense sums(const Dense& x) const;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  // The selection of select() as Nmgv::pack() stores it. kept: receives the mask; may be nullptr.
  Nmgv fit(const Dense& x, Mask* kept = nullptr) const;
  static NmgvFit make(const Spec& spec);
};

}  // namespace sten
