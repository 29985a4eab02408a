// SPDX-License-Identifier: Apache-2.0
// GemmFunctions (gemm_functions.h) over a Grid.
#pragma once
#include "kernels/block/gemm/list_product.h"
#include "kernels/block/gemm/list_samples.h"
#include "kernels/block/gemm/lists.h"

namespace sten::kernels {

// dense: the product of a library.
template <class Grid>
GemmFunctions gemm_functions(void (*dense)(const GemmOperands&, Stream)) {
  return {dense,
          [](const CsrPositions& of, bool by_column, SlabListsRoom room, Stream stream) {
            Grid grid(stream);
            make_csr_lists(grid, of, by_column, room);
          },
          [](const NmgPositions& of, bool by_column, SlabListsRoom room, Stream stream) {
            Grid grid(stream);
            make_nmg_lists(grid, of, by_column, room);
          },
          [](const SlabLists& of, const float* values, std::int64_t stored, const ListOperands& x,
             Stream stream) {
            Grid grid(stream);
            list_product(grid, of, values, stored, x);
          },
          [](const SlabLists& of, std::int64_t stored, const SampleOperands& x, Stream stream) {
            Grid grid(stream);
            list_samples(grid, of, stored, x);
          }};
}

}  // namespace sten::kernels
