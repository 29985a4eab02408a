// SPDX-License-Identifier: Apache-2.0
// WindowFunctions (window_functions.h) over a Grid.
#pragma once
#include "kernels/block/windows/columns.h"

namespace sten::kernels {

template <class Grid>
WindowFunctions window_functions() {
  using Windows = WindowsOn<Grid>;
  WindowFunctions all{};
  all.make_columns = Windows::make_columns;
  all.sum_columns = Windows::sum_columns;
  all.transpose = Windows::transpose;
  all.add_relu = Windows::add_relu;
  return all;
}

}  // namespace sten::kernels
