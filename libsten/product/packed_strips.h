// Sparse matrices in strips, as the products of all layouts but n:m:g read them.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "kernels/csr.h"
#include "libsten/base/array.h"
#include "libsten/layout/bcsr.h"
#include "libsten/layout/compressed.h"
#include "libsten/layout/nm.h"
#include "libsten/product/packed.h"
#include "libsten/product/panels.h"

namespace sten {

// Rows of C in runs of strips, or pairs of rows (kernels/csr.h). Made once per weight, kept in
// memory with it and never written to a file. Columns are cut into slabs whose rows of B,
// panel_width wide, fit the first cache; fewer and larger ones where runs would be short. Rows are
// cut into bands, which threads share out.
template <class Run>
struct PackedRuns {
  Index rows = 0, cols = 0;
  Index band_rows = 1;       // the last band may have fewer, but those of padding
  std::vector<Index> slabs;  // [slabs + 1]: where each begins, and the end
  Array<Run> runs;           // by slab and band; then by what makes branches of neighbours alike
  Array<std::uint16_t> columns;  // from the slab's beginning
  Array<float> values;
  struct StripLocation {
    Index run, strip, value;
  };
  std::vector<StripLocation> first;  // [slabs * bands + 1]

  Index slab_count() const { return std::ssize(slabs) - 1; }
  Index slab_rows(Index s) const { return slabs[s + 1] - slabs[s]; }
  Index band_count() const { return ceil_div(rows, band_rows); }
};

// 6 bytes for each value of height 1 (a run of height h: 4 + 2 / h), and 6 for each run.
struct PackedStrips : PackedRuns<kernels::CsrRun> {
  std::vector<kernels::CsrRows> heights;

  // Rows of C of a band are counted from its first.
  kernels::CsrRuns part(Index slab, Index band) const {
    const StripLocation &at = first[slab * band_count() + band], &end = (&at)[1];
    return {heights.data(), runs.data() + at.run, end.run - at.run, columns.data() + at.strip,
            values.data() + at.value};
  }
};

// Rows of single values, two at a time: 6 bytes for each value, less 2 for each that has the column
// of one of the other row, and 10 for each pair.
struct PackedRowPairs : PackedRuns<kernels::CsrRowPair> {
  kernels::CsrRowPairs part(Index slab, Index band) const {
    const StripLocation &at = first[slab * band_count() + band], &end = (&at)[1];
    return {runs.data() + at.run, end.run - at.run, columns.data() + at.strip,
            values.data() + at.value};
  }
};

// Rows of a matrix, from [0, nnz]: row r is entries ptr[r] to ptr[r + 1], columns ascending.
struct CsrEntries {
  Index rows, cols;
  const std::int64_t* ptr;
  const std::int32_t* index;
  const float* values;
};
// Where columns are cut into slabs, for `strips` in `runs` of a height that reach over all columns.
std::vector<Index> slabs_of(Index cols, Index runs, Index strips, Index height);

PackedStrips pack_csr(const CsrEntries& a);
// In each slab the rows of a band that share the most columns are a pair.
PackedRowPairs pack_row_pairs(const CsrEntries& a);
// Of rank 2, values of 4 bytes.
inline CsrEntries entries_of(const Csr& a) {
  return {a.extents[0], a.extents[1], a.ptr.data(), a.index.data(), packable(a.values).data()};
}

// F32 of rank 2. Every column of a block is a strip; block rows of more than most_run_height rows
// are several runs.
PackedStrips pack_bcsr(const Bcsr& a);

// Whether pack_nm() packs it: n:m with axis 1, and with axis 0 where there are few patterns of
// several rows. Others are packed as csr.
bool packs_directly(const Nm& a);
// F32 of rank 2. With axis 0 the strips of one pattern in a block of rows are a run.
PackedStrips pack_nm(const Nm& a);

// Whether panels are narrow_panel_width wide: for few tokens, where those of others are not panel_width wide.
bool has_small_batch(const Activations& x, const ActivationsOut& y);

// y[M, N] = A[M, K] * x[K, N], each as its form says: x has A's columns for features, y its rows.
void strips_product(const PackedStrips& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue = {});
// Always in panels of panel_width: with few tokens the two sums of a pair wait for each other.
void strips_product(const PackedRowPairs& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue = {});

}  // namespace sten
