// SPDX-License-Identifier: Apache-2.0
// Products of csr and bcsr rows with a dense slab: C += A * B.
//
// A slab is a range of neighbouring rows of B, packed so that it stays in L1 and L2. The part of A
// that multiplies a slab is a list of runs of strips. A strip is one row of the slab and a value
// for each of a few rows of C. All strips of a run update the same rows of C, whose sums stay in
// registers during the run. In csr a run is a row, of height 1; in bcsr a run is a block row, and
// each column of a block is a strip.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

// Columns of B and C per kernel call: four vectors of AVX-512, or one for a small batch.
inline constexpr std::int64_t panel_width = 64, narrow_panel_width = 16;

// Maximum number of rows of C whose sums are in registers.
inline constexpr int most_run_height = 6;
struct CsrRows {
  std::int32_t height;
  std::int32_t rows[most_run_height];  // relative to the run's row
};

struct CsrRun {
  std::uint16_t row;     // of C
  std::uint16_t strips;  // at least 1
  std::uint16_t rows;    // index into CsrRuns::rows
};

struct CsrRuns {
  const CsrRows* rows;
  const CsrRun* runs;
  std::int64_t count;
  const std::uint16_t* columns;  // [strips], run after run: rows of the slab
  const float* values;           // [strips, height]
};

// Two rows of C of height 1 whose sums share registers. A row of the slab is loaded once if both
// rows have a value in it.
struct CsrRowPair {
  std::uint16_t rows[2];           // of C; the first has at least as many values
  std::uint16_t both, each, rest;  // see CsrRowPairs
};

struct CsrRowPairs {
  const CsrRowPair* row_pairs;
  std::int64_t count;
  // Per row pair: `both` columns (an even number) that the rows share, `each` columns of either
  // row, alternating, and `rest` columns of the first row only.
  const std::uint16_t* columns;  // rows of the slab
  const float* values;           // [both, 2], [each, 2], [rest]
};

// Rows of csr in their stored order, for matrices that are multiplied too rarely to be packed. Row
// r has the entries [first[r], last[r]), for example those of a range of columns.
struct UnpackedCsr {
  std::int64_t count;  // rows
  const std::int64_t *first, *last;
  const std::int32_t* index;  // rows of B, whose stride is b_stride
  const float* values;
};

// Widths of `multiply`: for a small batch, and for whole panels.
inline constexpr std::int64_t csr_widths[] = {narrow_panel_width, panel_width};

struct CsrTable {
  // C += runs * slab for each of csr_widths. slab [rows, width], C [rows, width].
  void (*multiply[2])(const CsrRuns& runs, const float* slab, float* c);
  // C += row_pairs * slab for panel_width.
  void (*multiply_row_pairs)(const CsrRowPairs& row_pairs, const float* slab, float* c);
  // Sampled product for panel_width and runs of height 1: sums[strip] += C[row of C] . slab[row of
  // the slab]. The values of `runs` are not read.
  void (*sample)(const CsrRuns& runs, const float* slab, const float* c, float* sums);
  // C = start + A * B for `width` columns. start [width] is added to each row; nullptr: C += A * B.
  void (*multiply_unpacked)(const UnpackedCsr& a, std::int64_t width, const float* b,
                            std::int64_t b_stride, const float* start, float* c,
                            std::int64_t c_stride);
  // Sampled product: sums[entry] += C[row] . B[index] over `width` columns. The values of `a` are
  // not read.
  void (*sample_unpacked)(const UnpackedCsr& a, std::int64_t width, const float* b,
                          std::int64_t b_stride, const float* c, std::int64_t c_stride,
                          float* sums);
};

// nullptr unless has_isa(isa).
const CsrTable* csr_gemm_for(Isa isa);
// The table for active_isa().
const CsrTable& csr_gemm();

}  // namespace sten::kernels
