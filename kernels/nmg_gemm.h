// Products of row blocks of n:m:g with a dense slab.
//
// A slab is some neighbouring rows of B, packed side by side so that they stay in the first cache.
// A row block is m rows of A. What it has in a slab comes in one of two orders:
//   - sorted by pattern: the strips of one pattern are a run, whose n rows of C stay in registers
//     while the run lasts;
//   - interleaved: a strip of every pattern, then another of every pattern, and so on. All m rows
//   of
//     C stay in registers, and the rows of each strip are known when compiling. For few small m.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

struct NmgRows {
  const std::uint16_t* patterns;  // [count, n], ascending rows of a block, in lexicographic order
  std::int64_t n, m, count;
};

// What a row block has in a slab.
struct NmgStripsInSlab {
  std::int64_t steps;            // interleaved: strips of each pattern; sorted: -1
  const std::uint16_t* counts;   // sorted: [count], strips of each pattern
  const std::uint16_t* offsets;  // [strips]: bytes to the strip's row of the slab
  const float* values;           // [strips, n]
};
// Beyond the last strip so many offsets and values are read, and not used.
inline constexpr std::int64_t nmg_read_ahead = 4;

struct NmgGemmTable {
  // C_out[m, panel_width] = C_in + block * slab.   slab [rows, panel_width].
  // C_in: nullptr for zeros; may be C_out, else they do not overlap.
  void (*block)(const NmgRows& rows, const NmgStripsInSlab& strips, const float* slab,
                const float* c_in, std::int64_t ld_in, float* c_out, std::int64_t ld_out);
  // Whether it knows n:m interleaved.
  bool (*interleaves)(std::int64_t n, std::int64_t m);
};

// nullptr where has_isa() says no.
const NmgGemmTable* nmg_gemm_for(Isa isa);
// Of active_isa().
const NmgGemmTable& nmg_gemm();

}  // namespace sten::kernels
