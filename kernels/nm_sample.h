// SPDX-License-Identifier: Apache-2.0
// Sampled products of n:m and n:m:g: gradients at stored positions.
//
// A row block is m rows of A. A strip is a column of a row block, with n values in the rows of the
// strip's pattern. A slab is a range of neighbouring columns of A with the tokens of one or two
// panels. Operands have one row per column or per row of A: [features, panel_width] in each panel.
// The strips of a slab are sorted by block, pattern and column.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

// The strips of consecutive row blocks in a slab.
struct NmStrips {
  const std::uint16_t* patterns;  // [count, n], ascending rows of a block
  std::int64_t n, m, count;
  std::int64_t blocks;
  const std::uint16_t* counts;   // [blocks, count]: strips of each pattern
  const std::uint16_t* columns;  // [strips], relative to the start of the slab
};

// Features of the tokens of one or two panels.
struct PanelsIn {
  const float* of[2];
  std::int64_t count;  // panels
};

// Floats of `work` per value of a row block in a slab. The number of values is rounded up to a
// multiple of this.
inline constexpr std::int64_t nm_sample_lanes = 16;

struct NmSampleTable {
  // sums[strip, i] += dot product, over all tokens, of row i of the strip's pattern in dy and the
  // strip's column in x. `work` is scratch, aligned to vectors.
  void (*sample)(const NmStrips& a, const PanelsIn& x, const PanelsIn& dy, float* work,
                 float* sums);
};

// nullptr unless has_isa(isa).
const NmSampleTable* nm_sample_for(Isa isa);
// The table for active_isa().
const NmSampleTable& nm_sample();

}  // namespace sten::kernels
