// SPDX-License-Identifier: Apache-2.0
// n:m:g with axis 0, packed for products.
#pragma once
#include <memory>
#include <vector>

#include "kernels/nmg_gemm.h"
#include "libsten/compute/product/panels.h"
#include "libsten/core/base/array.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/core/layout/nmg_patterns.h"

namespace sten {

// Rows of a slab: 32 KB of a 48 KB L1 cache, through which C and A pass, too. Measured on Sapphire
// Rapids, relative to dense: 160 loses 2 to 4 %, 100 up to 20 %, 240 up to 32 %.
inline constexpr Index most_slab_rows = 128;

// A packed weight, cached with the tensor and never written to a file. Columns are divided into
// slabs whose rows of B, panel_width wide, fit in the L1 cache: whole chunks if they fit, else
// equal parts of a chunk. Strips are sorted by slab, row block, pattern and column. If the kernel
// needs interleaved strips and every pattern has equally many in the slab, they are sorted by slab,
// row block, group of patterns, index within the pattern, and pattern. Block pairs have an order of
// their own.
struct NmgPacked {
  Index rows, cols, row_blocks;
  Index n, m;
  Index pattern_count;
  Index groups;                         // groups of interleaved patterns, see kernels/nmg_gemm.h
  std::vector<std::uint16_t> patterns;  // [C, n], in lexicographic order
  std::vector<Index> slabs;             // [slabs + 1]: start of each slab, and the end
  std::vector<Index> first;             // [slabs, row_blocks]: the first strip
  std::vector<Index> steps;             // [slabs]: strips of each pattern if interleaved, else -1
  std::vector<std::uint16_t> counts;    // [slabs, row_blocks, C]
  std::vector<bool> is_paired;          // [slabs], or empty
  std::vector<std::uint16_t> shared;    // [slabs, row_blocks / 2] if paired
  Array<std::uint16_t> offsets;         // [strips]: bytes from the start of the slab
  Array<float> values;                  // [strips, n]; both may be moved to another form

  // For F32 of rank 2 with axis 0. most_rows: maximum rows of a slab, at most 256.
  explicit NmgPacked(const Nmg& a, Index most_rows = most_slab_rows);

  Index slab_count() const { return std::ssize(slabs) - 1; }
  Index slab_rows(Index s) const { return slabs[s + 1] - slabs[s]; }
  // Row blocks that run together; a product can start only at the first of them.
  Index at_once() const { return shared.empty() ? 1 : 2; }
  kernels::NmgRows pattern_rows() const { return {patterns.data(), n, m, pattern_count, groups}; }
  kernels::NmgSlabStrips strips(Index slab, Index row_block) const {
    const Index at = slab * row_blocks + row_block;
    const bool paired = !is_paired.empty() && is_paired[slab];
    return {steps[slab], counts.data() + at * pattern_count,
            offsets.size() ? offsets.data() + first[at] : nullptr,
            values.size() ? values.data() + first[at] * n : nullptr,
            paired ? shared.data() + slab * (row_blocks / 2) + row_block / 2 : nullptr};
  }

 private:
  // Reorders slabs of n = 1 to block pairs, two row blocks that load rows of B once
  // (kernels/nmg_gemm.h), where they share enough columns. Defined in nmg_block_pairs.cpp.
  void pair_row_blocks(const Nmg& a);
};

// Computes y[M, N] = A[M, K] * x[K, N] and applies the epilogue, for every activation layout.
void strips_product(const NmgPacked& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue = {});

}  // namespace sten
