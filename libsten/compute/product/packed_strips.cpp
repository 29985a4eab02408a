// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/packed_strips.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/nm_positions.h"
#include "libsten/core/layout/nmg_patterns.h"

namespace sten {
namespace {

using kernels::CsrRows;
using kernels::most_run_height;

// The strips of a run over all columns, ascending.
struct LongRun {
  Index row;     // in the band
  Index height;  // index of the height
  Index strips;
  const std::int32_t* columns;
  const float* values;  // [strips, rows of the height]
};

// The runs of a band, and memory for runs that the layout does not store in this form.
struct Band {
  std::vector<LongRun> runs;
  std::vector<std::vector<std::int32_t>> columns;
  std::vector<std::vector<float>> values;

  void clear() {
    runs.clear();
    columns.clear();
    values.clear();
  }
};

constexpr Index strips_slab_rows = 128, strips_long_slab_rows = 1024;  // 32 KB; 256 KB
// Strips per row of a run: with fewer, reading and writing C takes longer than the sums.
constexpr Index good_run = 12;
constexpr Index good_band = 64;

// read(b, band) appends the runs of band b.
template <class F>
PackedStrips build(PackedStrips out, Index runs, Index strips, F&& read) {
  out.slabs = slabs_of(out.cols, runs, strips, out.heights[0].height);
  const Index slabs = out.slab_count(), bands = out.band_count();
  std::vector<PackedStrips::StripLocation>& first = out.first;
  first.assign(slabs * bands + 1, {0, 0, 0});
  // Calls f(slab, begin, end) for the strips of a run in each slab.
  const auto each_segment = [&](const LongRun& run, auto&& f) {
    const std::int32_t *at = run.columns, *const end = at + run.strips;
    for (Index s = 0; s < slabs && at < end; ++s) {
      const std::int32_t* next = std::lower_bound(at, end, out.slabs[s + 1]);
      if (next > at) f(s, at - run.columns, next - run.columns);
      at = next;
    }
  };
  parallel_for(bands, 1, [&](Index begin, Index end) {
    Band band;
    for (Index b = begin; b < end; ++b) {
      band.clear();
      read(b, band);
      for (const LongRun& run : band.runs)
        each_segment(run, [&](Index s, Index from, Index to) {
          PackedStrips::StripLocation& count = first[s * bands + b];
          ++count.run;
          count.strip += to - from;
          count.value += (to - from) * out.heights[run.height].height;
        });
    }
  });
  PackedStrips::StripLocation all{0, 0, 0};
  for (PackedStrips::StripLocation& place : first) {
    const PackedStrips::StripLocation count = place;
    place = all;
    all = {all.run + count.run, all.strip + count.strip, all.value + count.value};
  }
  out.runs = Array<kernels::CsrRun>::uninitialized(all.run);
  out.columns = Array<std::uint16_t>::uninitialized(all.strip);
  out.values = Array<float>::uninitialized(all.value);
  kernels::CsrRun* const to_runs = out.runs.mutate();
  std::uint16_t* const to_columns = out.columns.mutate();
  float* const to_values = out.values.mutate();
  struct ColumnRun {
    const LongRun* run;
    Index begin, end;
  };
  parallel_for(bands, 1, [&](Index begin, Index end) {
    Band band;
    std::vector<std::vector<ColumnRun>> of_slab(slabs);
    for (Index b = begin; b < end; ++b) {
      band.clear();
      read(b, band);
      for (std::vector<ColumnRun>& pieces : of_slab) pieces.clear();
      for (const LongRun& run : band.runs)
        each_segment(run, [&](Index s, Index from, Index to) {
          of_slab[s].push_back({&run, from, to});
        });
      for (Index s = 0; s < slabs; ++s) {
        const auto key = [&](const ColumnRun& p) {
          return std::pair(out.heights[p.run->height].height, p.end - p.begin);
        };
        std::stable_sort(of_slab[s].begin(), of_slab[s].end(),
                         [&](const ColumnRun& p, const ColumnRun& q) { return key(p) < key(q); });
        PackedStrips::StripLocation at = first[s * bands + b];
        for (const ColumnRun& p : of_slab[s]) {
          const Index height = out.heights[p.run->height].height, count = p.end - p.begin;
          to_runs[at.run++] = {static_cast<std::uint16_t>(p.run->row),
                               static_cast<std::uint16_t>(count),
                               static_cast<std::uint16_t>(p.run->height)};
          for (Index e = p.begin; e < p.end; ++e)
            to_columns[at.strip++] = static_cast<std::uint16_t>(p.run->columns[e] - out.slabs[s]);
          std::copy_n(p.run->values + p.begin * height, count * height, to_values + at.value);
          at.value += count * height;
        }
      }
    }
  });
  return out;
}

PackedStrips begin(Index rows, Index cols, Index band_rows) {
  PackedStrips out;
  out.rows = rows;
  out.cols = cols;
  out.band_rows = band_rows;
  return out;
}

// Rows of whole blocks of m rows, about good_band.
Index band_of(Index m) { return std::max<Index>(1, good_band / m) * m; }

}  // namespace

std::vector<Index> slabs_of(Index cols, Index runs, Index strips, Index height) {
  Index step = strips_slab_rows;
  while (step < strips_long_slab_rows && strips * step < good_run * height * runs * cols) step *= 2;
  std::vector<Index> at{0};
  const Index slabs = ceil_div(cols, step);
  for (Index s = 1; s <= slabs; ++s) at.push_back(s * cols / slabs);
  return at;
}

PackedStrips pack_csr(const CsrEntries& a) {
  PackedStrips out = begin(a.rows, a.cols, good_band);
  out.heights = {{1, {0}}};
  const Index entries = a.rows ? a.ptr[a.rows] - a.ptr[0] : 0;
  return build(std::move(out), a.rows, entries, [&](Index b, Band& band) {
    const Index row0 = b * good_band;
    for (Index r = row0; r < std::min(a.rows, row0 + good_band); ++r)
      band.runs.push_back(
          {r - row0, 0, a.ptr[r + 1] - a.ptr[r], a.index + a.ptr[r], a.values + a.ptr[r]});
  });
}

PackedStrips pack_bcsr(const Bcsr& a) {
  const Index h = a.h, w = a.w, rows = a.extents[0], cols = a.extents[1];
  if (cols > std::numeric_limits<std::int32_t>::max())
    fail_usage("product: {} columns do not fit 32-bit indices", cols);
  PackedStrips out = begin(rows, cols, band_of(h));
  // Divides the rows of a block into parts of almost equal height.
  const Index parts = ceil_div(h, most_run_height);
  std::vector<Index> part_row;
  for (Index p = 0; p <= parts; ++p) part_row.push_back(p * h / parts);
  for (Index height = h / parts; height <= ceil_div(h, parts); ++height) {
    CsrRows& next = out.heights.emplace_back();
    next.height = static_cast<std::int32_t>(height);
    std::iota(next.rows, next.rows + most_run_height, 0);
  }
  const Index block_rows = ceil_div(rows, h), per_band = out.band_rows / h;
  const auto from = packable(a.values);
  const Index blocks = block_rows ? a.ptr[block_rows] : 0;
  return build(std::move(out), block_rows, blocks * w, [&](Index b, Band& band) {
    for (Index l = b * per_band; l < std::min(block_rows, (b + 1) * per_band); ++l) {
      std::vector<std::int32_t>& columns = band.columns.emplace_back();
      for (Index e = a.ptr[l]; e < a.ptr[l + 1]; ++e)
        for (Index c = a.col[e] * w; c < std::min(cols, (a.col[e] + 1) * w); ++c)
          columns.push_back(static_cast<std::int32_t>(c));
      const Index strips = std::ssize(columns);
      for (Index p = 0; p < parts; ++p) {
        const Index r0 = part_row[p], r1 = part_row[p + 1];
        std::vector<float>& values = band.values.emplace_back();
        values.reserve(strips * (r1 - r0));
        for (Index e = a.ptr[l]; e < a.ptr[l + 1]; ++e)
          for (Index j = 0; j < std::min(w, cols - a.col[e] * w); ++j)
            for (Index r = r0; r < r1; ++r) values.push_back(from[(e * h + r) * w + j]);
        band.runs.push_back({(l - b * per_band) * h + r0, r1 - r0 - h / parts, strips,
                             columns.data(), values.data()});
      }
    }
  });
}

namespace {

int position_bits(Index m) { return std::bit_width(static_cast<std::uint64_t>(m - 1)); }

// Blocks run along rows, which become runs.
PackedStrips pack_nm_rows(const Nm& a) {
  const Index n = a.n, m = a.m, rows = a.extents[0], cols = a.extents[1];
  PackedStrips out = begin(rows, cols, good_band);
  out.heights = {{1, {0}}};
  const Index blocks = ceil_div(cols, m), bits = position_bits(m);
  const Index row_bytes = ceil_div(blocks * n * bits, 8);
  const auto from = packable(a.values);
  return build(std::move(out), rows, rows * blocks * n, [&](Index b, Band& band) {
    for (Index r = b * good_band; r < std::min(rows, (b + 1) * good_band); ++r) {
      std::vector<std::int32_t>& columns = band.columns.emplace_back(blocks * n);
      const std::uint8_t* line = a.pos.data() + r * row_bytes;
      BitReader positions(line, 0, line + row_bytes);
      for (Index at = 0; at < blocks * n; ++at)
        columns[at] = static_cast<std::int32_t>(at / n * m + positions.next(bits));
      // Padding comes last.
      const Index strips = std::lower_bound(columns.begin(), columns.end(), cols) - columns.begin();
      band.runs.push_back(
          {r - b * good_band, 0, strips, columns.data(), from.data() + r * blocks * n});
    }
  });
}

}  // namespace

bool supports_nm_runs(const Tensor& tensor, const ProductCall&) {
  constexpr Index most_patterns = 28;  // with more, a slab has few strips of each pattern
  if (!tensor.is<Nm>()) return false;
  const Nm& a = tensor.as<Nm>();
  if (a.extents[1] > std::numeric_limits<std::int32_t>::max() - a.m) return false;
  return a.axis == 1 || (a.n > 1 && a.n <= most_run_height &&
                         pattern_count(a.n, a.m, most_patterns) <= most_patterns);
}

PackedStrips pack_nm(const Nm& a) {
  if (a.axis == 1) return pack_nm_rows(a);
  const Index n = a.n, m = a.m, rows = a.extents[0], cols = a.extents[1];
  PackedStrips out = begin(rows, cols, band_of(m));
  const auto table = PatternTable::get(n, m);
  const Index patterns = table->count();
  std::vector<Index> pattern_of(Index{1} << m);  // by the bits of its positions
  for (Index p = 0; p < patterns; ++p) {
    CsrRows& next = out.heights.emplace_back();
    next.height = static_cast<std::int32_t>(n);
    std::copy((*table)[p].begin(), (*table)[p].end(), next.rows);
    Index bits = 0;
    for (const Index row : (*table)[p]) bits |= Index{1} << row;
    pattern_of[bits] = p;
  }
  const Index blocks = ceil_div(rows, m), per_band = out.band_rows / m;
  const Index width = position_bits(m);
  const Index row_bytes = ceil_div(blocks * n * width, 8);
  const auto from = packable(a.values);
  return build(std::move(out), blocks * patterns, cols * blocks, [&](Index b, Band& band) {
    const Index first = b * per_band, count = std::min(blocks - first, per_band);
    band.columns.resize(count * patterns);
    band.values.resize(count * patterns);
    for (Index c = 0; c < cols; ++c) {
      const std::uint8_t* line = a.pos.data() + c * row_bytes;
      BitReader positions(line, first * n * width, line + row_bytes);
      const float* values = &from[(c * blocks + first) * n];
      for (Index l = 0; l < count; ++l, values += n) {
        Index bits = 0;
        for (Index i = 0; i < n; ++i) bits |= Index{1} << positions.next(width);
        const Index at = l * patterns + pattern_of[bits];
        band.columns[at].push_back(static_cast<std::int32_t>(c));
        band.values[at].insert(band.values[at].end(), values, values + n);
      }
    }
    for (Index at = 0; at < count * patterns; ++at)
      band.runs.push_back({at / patterns * m, at % patterns, std::ssize(band.columns[at]),
                           band.columns[at].data(), band.values[at].data()});
  });
}

}  // namespace sten
