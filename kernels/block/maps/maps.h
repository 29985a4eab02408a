// SPDX-License-Identifier: Apache-2.0
// MapFunctions (map_functions.h) over a Grid.
#pragma once
#include "kernels/block/maps/binary.h"
#include "kernels/block/maps/moves.h"
#include "kernels/block/maps/sums.h"
#include "kernels/block/maps/unary.h"

namespace sten::kernels {

template <class Grid>
MapFunctions map_functions() {
  using Sums = SumsOn<Grid>;
  using Unary = UnaryOn<Grid>;
  using Binary = BinaryOn<Grid>;
  using Moves = MovesOn<Grid>;
  return {Sums::add_bias,  Sums::sum_rows,   Sums::sum,      Unary::map,
          Unary::map_grad, Unary::drop,      Binary::binary, Binary::binary_grad,
          Binary::compare, Binary::test_one, Binary::choose, Binary::keep_chosen,
          Moves::move,     Moves::cast};
}

}  // namespace sten::kernels
