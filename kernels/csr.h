// Products of sparse rows with a dense slab.
//
// A slab is some neighbouring rows of B, packed side by side so that they stay in the first caches.
// What a matrix has in it comes as runs of strips. A strip is a row of the slab and a value for
// each of a few rows of C; the strips of a run are those of the same rows of C, whose sums stay in
// registers meanwhile. In csr a run is a row, of height 1; in bcsr a block row, where each column
// of a block is a strip.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

// Columns of B and C that are worked on together: four vectors of AVX-512; or one, of few columns.
inline constexpr std::int64_t panel_width = 64, narrow_panel_width = 16;

// So many rows of C have their sums in registers.
inline constexpr int most_run_height = 6;
struct CsrRows {
  std::int32_t height;
  std::int32_t rows[most_run_height];  // counted from the run's row
};

struct CsrRun {
  std::uint16_t row;     // of C
  std::uint16_t strips;  // at least 1
  std::uint16_t rows;    // which of CsrRuns::rows
};

struct CsrRuns {
  const CsrRows* rows;
  const CsrRun* runs;
  std::int64_t count;
  const std::uint16_t* columns;  // [strips] of one run after the other: rows of the slab
  const float* values;           // [strips, height]
};

// Two rows of C of height 1, whose sums stay in registers together. A row of the slab in which both
// have a value is loaded once for both.
struct CsrRowPair {
  std::uint16_t rows[2];           // of C, of which the first has no fewer values
  std::uint16_t both, each, rest;  // see CsrRowPairs
};

struct CsrRowPairs {
  const CsrRowPair* row_pairs;
  std::int64_t count;
  // Of one pair after the other: `both` columns that both rows have, an even number, `each` columns
  // of either, in turns, and `rest` of the first row alone.
  const std::uint16_t* columns;  // rows of the slab
  const float* values;           // [both, 2], [each, 2], [rest]
};

// Rows of csr as they lie, for products of what is multiplied once or twice and not packed before.
// The entries that count are those of some columns: from `first` to `last` of each row.
struct UnpackedCsr {
  std::int64_t count;  // rows
  const std::int64_t *first, *last;
  const std::int32_t* index;  // rows of B, which are b_stride apart
  const float* values;
};

// Of panels: for a few columns of B, and for many.
inline constexpr std::int64_t csr_widths[] = {narrow_panel_width, panel_width};

struct CsrTable {
  // C += runs * slab.   slab [rows, width], C [rows, width], of each width
  void (*multiply[2])(const CsrRuns& runs, const float* slab, float* c);
  // Of panel_width.
  void (*multiply_row_pairs)(const CsrRowPairs& row_pairs, const float* slab, float* c);
  // Of panel_width, for runs of height 1, whose values it does not read: the product of row and
  // column of each strip, sums[strip] += C[row of C] . slab[row of the slab].
  void (*sample)(const CsrRuns& runs, const float* slab, const float* c, float* sums);
  // C = start + A * B of `width` columns; start [width] is added to each row, nullptr: what is in C.
  void (*multiply_unpacked)(const UnpackedCsr& a, std::int64_t width, const float* b,
                            std::int64_t b_stride, const float* start, float* c,
                            std::int64_t c_stride);
  // Of each entry, whose value it does not read: sums[entry] += C[row] . B[index], of `width`
  // columns.
  void (*sample_unpacked)(const UnpackedCsr& a, std::int64_t width, const float* b,
                          std::int64_t b_stride, const float* c, std::int64_t c_stride,
                          float* sums);
};

// nullptr where has_isa() says no.
const CsrTable* csr_gemm_for(Isa isa);
// Of active_isa().
const CsrTable& csr_gemm();

}  // namespace sten::kernels
