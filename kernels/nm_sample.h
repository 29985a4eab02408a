// Sampled products of n:m and n:m:g: gradients at their positions.
//
// A row block is m rows of A. A strip is a column of it with n values, in the rows of the strip's
// pattern. A slab is some neighbouring columns of A, and the tokens of one or two panels; what has
// features for rows, A's columns or its rows, has [features, panel_width] in each panel. What row
// blocks have in a slab is sorted by block, pattern and column.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

// Row blocks, one after the other.
struct NmStrips {
  const std::uint16_t* patterns;  // [count, n], ascending rows of a block
  std::int64_t n, m, count;
  std::int64_t blocks;
  const std::uint16_t* counts;   // [blocks, count]: strips of each pattern
  const std::uint16_t* columns;  // [strips], from the beginning of the slab
};

// Features of the tokens of two panels, or of one alone.
struct PanelsIn {
  const float* of[2];
  std::int64_t count;  // of panels
};

// What sums of lanes are worked on in: so many floats for each value of a row block in a slab, whose
// number is rounded up to a multiple of it.
inline constexpr std::int64_t nm_sample_lanes = 16;

struct NmSampleTable {
  // sums[strip, i] += row i of the strip's pattern in dy times the strip's column in x, over all
  // tokens. `work` is aligned as vectors are.
  void (*sample)(const NmStrips& a, const PanelsIn& x, const PanelsIn& dy, float* work,
                 float* sums);
};

// nullptr where has_isa() says no.
const NmSampleTable* nm_sample_for(Isa isa);
// Of active_isa().
const NmSampleTable& nm_sample();

}  // namespace sten::kernels
