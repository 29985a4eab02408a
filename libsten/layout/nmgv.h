// n:m:g over tiles: what n:m:g does with the elements of a matrix, done with tiles of them.
#pragma once
#include "libsten/layout/nmg.h"

namespace sten {

// A tile of the matrix, without what lies beyond its edges.
struct NmgvTile {
  Index offset = 0;          // dense offset of its first element
  Index rows = 0, cols = 0;  // 0 in padding
};

// How an [R, K] matrix is cut. Tiles have v rows and w columns of it, whatever the axis.
struct NmgvGeometry {
  MatrixView view;  // of the elements
  Index v, w;
  Index tile_rows, tile_cols;
  NmgGeometry tiles;  // of the tensor [batches, tile_rows, tile_cols]: a tile is an element

  static NmgvGeometry of(const Shape& shape, Index n, Index m, Index g, Index v, Index w,
                         Index axis, Dims dims);
  static Dims tile_dims() { return {1, 2}; }  // of that tensor
  Shape tile_shape() const { return {view.batches, tile_rows, tile_cols}; }
  // The tile at an offset of that tensor; -1 is padding.
  NmgvTile tile(Index at) const;
  // The offset of the tile that has this dense offset.
  Index tile_of(Index offset) const;
  // f(tile, batch * tile_rows + row of tiles), by columns in a row; rows of tiles in parallel.
  template <class F>
  void for_each_tile(F&& f) const;

  // The tiles that keep anything, and all elements of the tiles that are kept.
  Mask tiles_of(const Mask& elements) const;
  Mask elements_of(const Shape& shape, const Mask& stored_tiles) const;
  // Error where the parts would be far larger than a tensor of that shape, which padding can make
  // them.
  void check_padding(const Shape& shape) const;
};

struct Nmgv {
  static constexpr const char* name = "nmgv";
  static constexpr const char* own_sparsifier = "nmgv";
  static constexpr bool has_fillers = true;
  static constexpr Index usual_w = 2;
  Shape extents;
  Index n = 1, m = 1, g = 1, v = 1, w = usual_w, axis = 0;
  Dims dims;
  // [batch..., row_blocks, chunks, C, g, n, v * w]: the rows of a kept tile one after the other.
  Values values;
  // [batch..., row_blocks, chunks, C, g], as that of Nmg: column of tiles in the chunk (axis 0).
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
  // All slots inside the tensor: a filler cannot be told from a kept zero.
  Mask stored() const;
  double padding() const;
  // For each slot of `values` its dense offset, -1 in padding.
  std::vector<Index> offsets() const;
  // Stores exactly the mask, by placement of the tiles that keep anything, as Nmg::pack().
  static Nmgv pack(const Dense& x, const Mask& keep, const Spec& spec);
  static std::optional<Index> bytes(const Spec& spec, const Occupancy& of);
  // x, or what `keep` has of it, in tiles that are placed already: `tiles`, of whatever values, is
  // of the tensor that NmgvGeometry::tiles is of. What x has elsewhere is left out.
  static Nmgv of_tiles(const Nmg& tiles, const Dense& x, Index v, Index w, Dims dims,
                       const Mask* keep = nullptr);
  void loaded() const;
  // What has its numbers and dims.
  static bool includes(const Spec& spec, const Spec& other);
  // v and w are at least 1, a tile has at most 65536 elements, and n, m, g are those of n:m:g.
  static void check(const Spec& spec);
  // n:m:g on the tensor of tiles, for a checked spec.
  static Spec tile_spec(const Spec& spec);
  // How errors name a spec when they go on to count rows and columns of tiles.
  static std::string text_of_tiles(const Spec& spec) { return spec.str() + ", counted in tiles,"; }

 private:
  Shape part_shape(bool values) const;
  // f(first slot of `values`, tile), in parallel over chunks.
  template <class F>
  void for_each_kept(F&& f) const;
};

}  // namespace sten
