// SPDX-License-Identifier: Apache-2.0
// Sparse matrices in strips, packed for products of all layouts except n:m:g.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "kernels/csr.h"
#include "libsten/compute/product/packed.h"
#include "libsten/compute/product/product_impl.h"
#include "libsten/core/base/array.h"
#include "libsten/core/layout/bcsr.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/layout/nm.h"

namespace sten {

// Rows of C in runs of strips, or row pairs (kernels/csr.h). A packed weight, cached with the
// tensor and never written to a file. Columns are divided into slabs whose rows of B, panel_width
// wide, fit in the L1 cache, or fewer and larger ones if runs would be short. Rows are divided into
// bands, which are distributed over threads.
template <class Run>
struct PackedRuns {
  Index rows = 0, cols = 0;
  Index band_rows = 1;       // the last band may have fewer rows, apart from padding
  std::vector<Index> slabs;  // [slabs + 1]: start of each slab, and the end
  Array<Run> runs;           // by slab and band; then such that neighbours take similar branches
  Array<std::uint16_t> columns;  // relative to the start of the slab
  Array<float> values;
  struct StripLocation {
    Index run, strip, value;
  };
  std::vector<StripLocation> first;  // [slabs * bands + 1]

  Index slab_count() const { return std::ssize(slabs) - 1; }
  Index slab_rows(Index s) const { return slabs[s + 1] - slabs[s]; }
  Index band_count() const { return ceil_div(rows, band_rows); }
};

// 6 bytes per value of height 1 (4 + 2 / h for height h), and 6 per run.
struct PackedStrips : PackedRuns<kernels::CsrRun> {
  std::vector<kernels::CsrRows> heights;

  // Rows of C in a band are relative to its first row.
  kernels::CsrRuns part(Index slab, Index band) const {
    const StripLocation &at = first[slab * band_count() + band], &end = (&at)[1];
    return {heights.data(), runs.data() + at.run, end.run - at.run, columns.data() + at.strip,
            values.data() + at.value};
  }
};

// Rows of single values in pairs: 6 bytes per value, less 2 per value that shares its column with
// the other row, and 10 per pair.
struct PackedRowPairs : PackedRuns<kernels::CsrRowPair> {
  kernels::CsrRowPairs part(Index slab, Index band) const {
    const StripLocation &at = first[slab * band_count() + band], &end = (&at)[1];
    return {runs.data() + at.run, end.run - at.run, columns.data() + at.strip,
            values.data() + at.value};
  }
};

// Rows of a matrix: row r has entries ptr[r] to ptr[r + 1] of [nnz], columns ascending.
struct CsrEntries {
  Index rows, cols;
  const std::int64_t* ptr;
  const std::int32_t* index;
  const float* values;
};
// Divides columns into slabs, for `strips` in `runs` of one height over all columns.
std::vector<Index> slabs_of(Index cols, Index runs, Index strips, Index height);

PackedStrips pack_csr(const CsrEntries& a);
// In each slab, the rows of a band that share the most columns become pairs.
PackedRowPairs pack_row_pairs(const CsrEntries& a);
// For rank 2 and values of 4 bytes.
inline CsrEntries entries_of(const Csr& a) {
  return {a.extents[0], a.extents[1], a.ptr.data(), a.index.data(), packable(a.values).data()};
}

// For F32 of rank 2. Every column of a block is a strip; block rows of more than most_run_height
// rows become several runs.
PackedStrips pack_bcsr(const Bcsr& a);

// Whether pack_nm() supports it: n:m with axis 1, and with axis 0 if it has few patterns of several
// rows. Others are packed as csr.
bool supports_nm_runs(const Tensor& a, const ProductCall&);
// For F32 of rank 2. With axis 0, the strips of a pattern in a block of rows are a run.
PackedStrips pack_nm(const Nm& a);

// Computes y[M, N] = A[M, K] * x[K, N] and applies the epilogue, for every activation layout. Uses
// narrow panels for small batches.
void strips_product(const PackedStrips& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue = {});
// Always uses panels of panel_width: with small batches, the two sums of a pair wait for each
// other.
void strips_product(const PackedRowPairs& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue = {});

}  // namespace sten
