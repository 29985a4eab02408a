// What there is to count of a tensor's stored positions: from it layouts tell their sizes.
#pragma once
#include <optional>

#include "libsten/tensor/matrix_view.h"
#include "libsten/tensor/positions.h"

namespace sten {

// Of a tensor of rank 2 or more, seen with rows along dimension 0. Counted when first asked for, in
// one pass over the positions, with memory O(columns); it refers to them. One thread.
class Occupancy {
 public:
  // An element has `width` bytes.
  Occupancy(Index width, const Positions& positions)
      : width_(width), positions_(positions), view_(MatrixView::of(positions.extents)) {}

  Index width() const { return width_; }
  const Positions& positions() const { return positions_; }
  const MatrixView& view() const { return view_; }
  Index elements() const { return positions_.size(); }
  Index stored() const { return counts().stored; }
  Index longest_row() const { return counts().longest; }  // stored elements of it

  // Blocks of h rows and w columns, those at the edges smaller.
  struct Blocks {
    Index count = 0;       // with anything in them
    bool are_full = true;  // everything of them is stored, besides what lies beyond an edge
  };
  Blocks blocks(Index h, Index w) const;

 private:
  struct Counts {
    Index stored = 0, longest = 0;
    Blocks blocks;
  };
  template <class H, class W>
  Counts count(H h, W w) const;
  template <class H, class W>
  Counts count_list(H h, W w) const;
  template <class H, class W>
  Counts count_bits(H h, W w) const;
  const Counts& counts() const;

  Index width_;
  const Positions& positions_;
  MatrixView view_;
  mutable std::optional<Counts> counts_;  // with blocks of usual_block
};

}  // namespace sten
