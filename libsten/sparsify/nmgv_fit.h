// Chooses an n:m:g pattern for every strip of tiles: n:m:g on what the tiles sum to.
#pragma once
#include "libsten/layout/nmgv.h"
#include "libsten/sparsify/nmg_fit.h"

namespace sten {

// Every strip of the matrix of tiles keeps the n tiles of its pattern, zeros among them, as NmgFit
// chooses them for the tiles' sums of magnitudes: row by row of a tile, in float, F64 in double.
struct NmgvFit {
  static constexpr const char* name = "nmgv";
  static constexpr const char* own_keys[] = {"fit"};
  NmgFit tiles;  // of NmgvGeometry::tiles
  Index v = 1, w = Nmgv::usual_w;
  Dims dims;
  Share share() const { return tiles.share(); }
  std::string_view fit_name() const { return tiles.fit_name(); }
  NmgvGeometry geometry(const Shape& shape) const;
  // The sums, F32 or F64, [batches, rows of tiles, columns of tiles].
  Dense sums(const Dense& x) const;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  // What select() keeps, as Nmgv::pack() stores it. kept: where the mask goes, or nullptr.
  Nmgv fit(const Dense& x, Mask* kept = nullptr) const;
  static NmgvFit make(const Spec& spec);
};

}  // namespace sten
