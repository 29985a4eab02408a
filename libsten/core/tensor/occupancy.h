// SPDX-License-Identifier: Apache-2.0
// Counts of a tensor's stored positions, from which layouts compute their sizes.
#pragma once
#include <optional>

#include "libsten/core/tensor/matrix_view.h"
#include "libsten/core/tensor/positions.h"

namespace sten {

// For a tensor of rank 2 or more, with rows along dimension 0. Counts at the first call, in one
// pass over the positions with O(columns) memory. Refers to the positions; for one thread.
class Occupancy {
 public:
  // `width`: bytes per element.
  Occupancy(Index width, const Positions& positions)
      : width_(width), positions_(positions), view_(MatrixView::of(positions.extents)) {}

  Index width() const { return width_; }
  const Positions& positions() const { return positions_; }
  const MatrixView& view() const { return view_; }
  Index elements() const { return positions_.size(); }
  Index stored() const { return counts().stored; }
  Index longest_row() const { return counts().longest; }  // its stored elements

  // Blocks of h x w elements, smaller at the edges.
  struct Blocks {
    Index count = 0;       // blocks with a stored element
    bool are_full = true;  // whether these blocks store all their elements inside the matrix
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
  mutable std::optional<Counts> counts_;  // including blocks of the usual size
};

}  // namespace sten
