// SPDX-License-Identifier: Apache-2.0
// Chooses the kernel and the block size for a product of A in n:m:g with B.
#pragma once
#include "kernels/block/product/nmg_gemm.h"
#include "kernels/block/product/nmg_gemm_any.h"

namespace sten::kernels {

// Number of row blocks per block, at most `most`, for `all` row blocks and `tiles` of columns, if a
// processor runs one block at a time. The model counts a block's row blocks plus about four for
// loads and latency; among equally good sizes the largest reads B least often.
inline int nmg_gemm_row_blocks(std::int64_t all, std::int64_t tiles, int processors, int most) {
  int best = 1;
  std::int64_t least = 0;
  for (int r = 1; r <= most && r <= all; ++r) {
    const std::int64_t blocks = (all + r - 1) / r * tiles;
    const std::int64_t time = (blocks + processors - 1) / processors * (r + 4);
    if (r == 1 || time <= least) best = r, least = time;
  }
  return best;
}

template <class Grid>
struct NmgGemm {
  Grid& grid;
  const NmgFormat& f;
  const float* values;
  const void* index;
  const ProductOperands& x;

  // pack(packets) launches the packing. Returns false if shared memory is too small for two chunks
  // of B.
  template <int n, int most_m, class Pack>
  bool run(const NmgPacking& packing, const std::uint16_t* patterns, Pack&& pack) {
    using Kernel = NmgGemmKernel<n, most_m>;
    const std::int64_t tiles = (x.n + NmgPacking::width - 1) / NmgPacking::width;
    Kernel kernel{packing, GemmColumns(x), patterns, nullptr, Kernel::warps};
    while (kernel.shared_bytes() > grid.most_shared())
      if (--kernel.row_blocks == 0) return false;
    kernel.row_blocks =
        nmg_gemm_row_blocks(packing.row_blocks, tiles, grid.processors(), kernel.row_blocks);
    auto* packets = grid.template scratch<NmgPacket>(packing.all_packets());
    kernel.packets = packets;
    pack(packets);
    grid.launch(kernel);
    return true;
  }
  template <int n, int most_m>
  bool run() {
    const NmgPacking packing(f, most_m, x);
    return run<n, most_m>(packing, f.patterns, [&](NmgPacket* packets) {
      launch_threads(grid, packing.all_packets(),
                     NmgPack{packing, values, static_cast<const std::uint8_t*>(index), packets});
    });
  }
  // The same for A^T.
  bool run_transposed() {
    constexpr int columns = 10;  // of A per row block
    if (f.n != 1 || !NmgPacking::has_room(f, columns, x) || f.m > NmgPacking::most_strips)
      return false;
    const NmgPacking packing = NmgPacking::of_columns(f, columns, x);
    return run<1, columns>(packing, nullptr, [&](NmgPacket* packets) {
      const NmgPackColumns pack{packing, f, x.rows, values, static_cast<const std::uint8_t*>(index),
                                packets};
      launch_threads(grid, pack.all(), pack);
    });
  }
  template <int... most_m>
  bool run_first_of() {
    return ((f.m <= most_m && run<1, most_m>()) || ...);
  }
  bool run_packed() {
    if (!NmgPacking::has_room(f, f.m, x)) return false;
    if (f.n == 1) return run_first_of<2, 4, 5, 8, 10, 12, 16, 20>();
    return (f.m == 4 && run<2, 4>()) || (f.m == 8 && run<2, 8>());
  }
};

// The result does not depend on the choice of the kernel.
template <class Grid>
void nmg_gemm(Grid& grid, const NmgFormat& f, const float* values, const void* index,
              const ProductOperands& x) {
  if (x.rows == 0 || x.n == 0) return;
  if (!NmgGemm<Grid>{grid, f, values, index, x}.run_packed())
    grid.launch(NmgAnyGemmKernel{f, values, index, x});
}

template <class Grid>
struct ProductsOn {
  static void nmg(const NmgFormat& f, const float* values, const void* index,
                  const ProductOperands& x, Stream stream) {
    Grid grid(stream);
    nmg_gemm(grid, f, values, index, x);
  }
  static bool nmg_transposed(const NmgFormat& f, const float* values, const void* index,
                             const ProductOperands& x, Stream stream) {
    Grid grid(stream);
    if (x.rows == 0 || x.n == 0) return true;
    return NmgGemm<Grid>{grid, f, values, index, x}.run_transposed();
  }
};

}  // namespace sten::kernels
