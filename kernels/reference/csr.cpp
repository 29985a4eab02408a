// SPDX-License-Identifier: Apache-2.0
#include "kernels/csr.h"

namespace sten::kernels {
namespace {

// Calls f(row of the slab, row of C, index of the value) for every value.
template <class F>
void each_value(const CsrRuns& runs, F&& f) {
  std::int64_t strip = 0, value = 0;
  for (std::int64_t r = 0; r < runs.count; ++r) {
    const CsrRows& rows = runs.rows[runs.runs[r].rows];
    for (std::int64_t e = 0; e < runs.runs[r].strips; ++e, ++strip)
      for (std::int64_t i = 0; i < rows.height; ++i)
        f(std::int64_t{runs.columns[strip]}, runs.runs[r].row + rows.rows[i], value++);
  }
}

template <std::int64_t width>
void multiply(const CsrRuns& runs, const float* slab, float* c) {
  each_value(runs, [&](std::int64_t from, std::int64_t to, std::int64_t value) {
    for (std::int64_t j = 0; j < width; ++j)
      c[to * width + j] += runs.values[value] * slab[from * width + j];
  });
}

void multiply_row_pairs(const CsrRowPairs& all, const float* slab, float* c) {
  const std::uint16_t* column = all.columns;
  const float* value = all.values;
  const auto add = [&](std::int64_t row) {
    for (std::int64_t j = 0; j < panel_width; ++j)
      c[row * panel_width + j] += *value * slab[*column * panel_width + j];
    ++value;
  };
  for (std::int64_t p = 0; p < all.count; ++p) {
    const CsrRowPair& pair = all.row_pairs[p];
    for (int e = 0; e < pair.both; ++e, ++column)
      for (const std::uint16_t row : pair.rows) add(row);
    for (int e = 0; e < pair.each; ++e)
      for (const std::uint16_t row : pair.rows) add(row), ++column;
    for (int e = 0; e < pair.rest; ++e, ++column) add(pair.rows[0]);
  }
}

void sample(const CsrRuns& runs, const float* slab, const float* c, float* sums) {
  each_value(runs, [&](std::int64_t column, std::int64_t row, std::int64_t value) {
    float sum = 0;
    for (std::int64_t j = 0; j < panel_width; ++j)
      sum += c[row * panel_width + j] * slab[column * panel_width + j];
    sums[value] += sum;
  });
}

void multiply_unpacked(const UnpackedCsr& a, std::int64_t width, const float* b,
                       std::int64_t b_stride, const float* start, float* c, std::int64_t c_stride) {
  for (std::int64_t r = 0; r < a.count; ++r)
    for (std::int64_t j = 0; j < width; ++j) {
      float sum = start ? start[j] : c[r * c_stride + j];
      for (std::int64_t e = a.first[r]; e < a.last[r]; ++e)
        sum += a.values[e] * b[a.index[e] * b_stride + j];
      c[r * c_stride + j] = sum;
    }
}

void sample_unpacked(const UnpackedCsr& a, std::int64_t width, const float* b,
                     std::int64_t b_stride, const float* c, std::int64_t c_stride, float* sums) {
  for (std::int64_t r = 0; r < a.count; ++r)
    for (std::int64_t e = a.first[r]; e < a.last[r]; ++e)
      for (std::int64_t j = 0; j < width; ++j)
        sums[e] += c[r * c_stride + j] * b[a.index[e] * b_stride + j];
}

constexpr CsrTable table{{multiply<csr_widths[0]>, multiply<csr_widths[1]>},
                         multiply_row_pairs,
                         sample,
                         multiply_unpacked,
                         sample_unpacked};

}  // namespace

const CsrTable* csr_gemm_reference() { return &table; }

}  // namespace sten::kernels
