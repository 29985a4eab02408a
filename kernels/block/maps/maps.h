// MapFunctions (map_functions.h) over a Grid.
#pragma once
#include "kernels/block/maps/sums.h"

namespace sten::kernels {

template <class Grid>
MapFunctions map_functions() {
  using Sums = SumsOn<Grid>;
  MapFunctions all{};
  all.add_bias = Sums::add_bias;
  all.sum_rows = Sums::sum_rows;
  return all;
}

}  // namespace sten::kernels
