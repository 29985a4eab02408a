// SPDX-License-Identifier: Apache-2.0
// nmgv: n:m:g whose elements are tiles of a matrix.
#pragma once
#include "libsten/core/layout/nmg.h"

namespace sten {

// A tile, without its part outside the matrix.
struct NmgvTile {
  Index offset = 0;          // dense offset of the first element
  Index rows = 0, cols = 0;  // 0 in padding
};

// Division of a matrix [R, K] into tiles of v rows and w columns, for both axes.
struct NmgvGeometry {
  MatrixView view;  // of the elements
  Index v, w;
  Index tile_rows, tile_cols;
  NmgGeometry tiles;  // geometry of the tensor of tiles [batches, tile_rows, tile_cols]

  static NmgvGeometry of(const Shape& shape, Index n, Index m, Index g, Index v, Index w,
                         Index axis, Dims dims);
  static Dims tile_dims() { return {1, 2}; }  // of the tensor of tiles
  Shape tile_shape() const { return {view.batches, tile_rows, tile_cols}; }
  // The tile at an offset of the tensor of tiles; an empty tile for -1, padding.
  NmgvTile tile(Index at) const;
  // The offset, in the tensor of tiles, of the tile that contains a dense offset.
  Index tile_of(Index offset) const;
  // Calls f(offset in the tensor of tiles, tile), in order within a row of tiles and in parallel
  // over rows of tiles.
  template <class F>
  void for_each_tile(F&& f) const;

  // The tiles that keep any element, and all elements of stored tiles.
  Mask tiles_of(const Mask& elements) const;
  Mask elements_of(const Shape& shape, const Mask& stored_tiles) const;
  // Error if padding makes the parts far larger than a tensor of this shape.
  void check_padding(const Shape& shape) const;
};

struct Nmgv {
  static constexpr const char* name = "nmgv";
  static constexpr SpecDoc doc{"nmgv:n=1,m=4,g=2,v=32[,w=2][,axis=0]",
                               "as `nmg`, for tiles: `values [row blocks, chunks, C, g, n, v*w]`; "
                               "`index [row blocks, chunks, C, g]`"};
  static constexpr const char* own_sparsifier = "nmgv";
  static constexpr bool has_fillers = true;
  static constexpr Index usual_w = 2;
  Shape extents;
  Index n = 1, m = 1, g = 1, v = 1, w = usual_w, axis = 0;
  Dims dims;
  // [batch..., row_blocks, chunks, C, g, n, v * w], the tiles row-major.
  Values values;
  // [batch..., row_blocks, chunks, C, g], as in Nmg: column of tiles in the chunk (axis 0).
  Values index;

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("n", self.n);
    f("m", self.m);
    f("g", self.g);
    f("v", self.v);
    f("w", self.w, usual_w);
    f("axis", self.axis, Index{0});
    f("dims", self.dims);
    f("values", self.values, self.part_shape(true));
    f("index", self.index, self.part_shape(false));
  }
  const Shape& shape() const { return extents; }
  NmgvGeometry geometry() const { return NmgvGeometry::of(extents, n, m, g, v, w, axis, dims); }
  Dense to_dense() const;
  // All slots inside the tensor, since fillers equal kept zeros.
  Mask stored() const;
  double padding() const;
  // The dense offset of each slot of `values`, -1 in padding.
  std::vector<Index> offsets() const;
  // Stores exactly the mask, by matching of the tiles that keep any element, like Nmg::pack().
  static Nmgv pack(const Dense& x, const Mask& keep, const Spec& spec);
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
  // Stores the elements of x (with `keep`, only those in the mask) in the stored tiles of `tiles`,
  // an n:m:g tensor of tile_shape() whose values are ignored. Drops all other elements of x.
  static Nmgv of_tiles(const Nmg& tiles, const Dense& x, Index v, Index w, Dims dims,
                       const Mask* keep = nullptr);
  void loaded() const;
  // Whether `other` is nmgv with the same parameters and dims.
  static bool includes(const Spec& spec, const Spec& other);
  // Error unless v and w are at least 1, a tile has at most 65536 elements, and n, m and g are
  // valid for n:m:g.
  static void check(const Spec& spec);
  // The spec of n:m:g on the tensor of tiles, for a checked spec.
  static Spec tile_spec(const Spec& spec);
  // The spec's text in errors that count rows and columns of tiles.
  static std::string text_of_tiles(const Spec& spec) { return spec.str() + ", counted in tiles,"; }

 private:
  Shape part_shape(bool values) const;
  // Calls f(first slot of `values`, tile), in parallel over chunks.
  template <class F>
  void for_each_kept(F&& f) const;
};

}  // namespace sten
