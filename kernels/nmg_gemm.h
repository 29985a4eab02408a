// Products of row blocks of n:m:g with a dense slab.
//
// A slab is some neighbouring rows of B, packed side by side so that they stay in the first cache.
// A row block is m rows of A. Its strips in a slab are sorted by pattern: those of one pattern are
// a run, whose n rows of C stay in registers while the run lasts.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

struct NmgRows {
  const std::uint16_t* patterns;  // [count, n], ascending rows of a block
  std::int64_t n, m, count;
};

// What a row block has in a slab.
struct NmgRuns {
  const std::uint16_t* counts;   // [count]: strips of each pattern
  const std::uint16_t* offsets;  // [strips]: bytes to the strip's row of the slab
  const float* values;           // [strips, n]
};

// C_out[m, panel_width] = C_in + block * slab.   slab [rows, panel_width], aligned to 64 bytes.
// C_in: nullptr for zeros; may be C_out, else they do not overlap.
using NmgBlock = void(const NmgRows& rows, const NmgRuns& runs, const float* slab,
                      const float* c_in, std::int64_t ld_in, float* c_out, std::int64_t ld_out);

// nullptr where has_isa() says no.
NmgBlock* nmg_block_for(Isa isa);
// Of active_isa().
NmgBlock& nmg_block();

}  // namespace sten::kernels
