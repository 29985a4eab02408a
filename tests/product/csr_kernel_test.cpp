// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "kernels/csr.h"
#include "kernels/families.h"
#include "tests/kernels/fenced.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("csr run kernels match the reference on every ISA without out-of-bounds access") {
  Dice dice(4);
  std::vector<kernels::CsrRows> heights;
  for (std::int32_t h = 1; h <= kernels::most_run_height; ++h) {
    kernels::CsrRows next{h, {}};
    for (std::int32_t i = 0; i < h; ++i) next.rows[i] = 2 * i;
    heights.push_back(next);
  }
  const Index slab_rows = 9, c_rows = 20;
  for (int round = 0; round < 200; ++round) {
    const bool sampled = round % 2;
    const Index wide = sampled || round % 4, width = kernels::csr_widths[wide];
    std::vector<kernels::CsrRun> runs(dice.below(9));
    std::vector<std::uint16_t> columns;
    Index values = 0;
    for (kernels::CsrRun& run : runs) {
      run.rows = static_cast<std::uint16_t>(sampled ? 0 : dice.below(std::ssize(heights)));
      run.row = static_cast<std::uint16_t>(dice.below(c_rows - 2 * run.rows));
      run.strips = static_cast<std::uint16_t>(1 + dice.below(round % 3 ? 9 : 40));
      for (int i = 0; i < run.strips; ++i)
        columns.push_back(static_cast<std::uint16_t>(dice.below(slab_rows)));
      values += run.strips * heights[run.rows].height;
    }
    Fenced<kernels::CsrRun> fenced_runs(runs);
    Fenced<std::uint16_t> fenced_columns(columns);
    Fenced<float> weights(floats(normals(dice, {values}))),
        slab(floats(normals(dice, {slab_rows * width})));
    const std::vector<float> c = floats(normals(dice, {c_rows * width})),
                             sums = floats(normals(dice, {values}));
    const kernels::CsrRuns view{heights.data(), fenced_runs.data(), std::ssize(runs),
                                fenced_columns.data(), weights.data()};
    const auto run_with = [&](const kernels::CsrTable& table) {
      Fenced<float> panel(c), out(sums);
      if (sampled)
        table.sample(view, slab.data(), panel.data(), out.data());
      else
        table.multiply[wide](view, slab.data(), panel.data());
      if (sampled) CHECK(panel.values() == c);
      return sampled ? out.values() : panel.values();
    };
    const std::vector<float> wanted = run_with(*kernels::csr_gemm_reference());
    for (const kernels::Isa isa : kernels::all_isas) {
      const kernels::CsrTable* table = kernels::csr_gemm_for(isa);
      CHECK((table != nullptr) == kernels::has_isa(isa));
      if (!table) continue;
      const std::vector<float> got = run_with(*table);
      Index wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        wrong += !(std::abs(got[i] - wanted[i]) <= 1e-5f * (10 + std::abs(wanted[i])));
      CHECK_MESSAGE(wrong == 0, sampled, " ", width, " ", kernels::name_of(isa));
    }
  }
}

TEST_CASE("csr row-pair kernels match the reference on every ISA without out-of-bounds access") {
  Dice dice(5);
  const Index slab_rows = 9, c_rows = 20;
  for (int round = 0; round < 200; ++round) {
    std::vector<kernels::CsrRowPair> row_pairs(dice.below(9));
    std::vector<std::uint16_t> columns;
    Index values = 0;
    const auto number = [&](Index below) { return static_cast<std::uint16_t>(dice.below(below)); };
    for (kernels::CsrRowPair& pair : row_pairs) {
      pair.rows[0] = number(c_rows);
      pair.rows[1] = static_cast<std::uint16_t>((pair.rows[0] + 1 + number(c_rows - 1)) % c_rows);
      pair.both = static_cast<std::uint16_t>(2 * number(5));
      pair.each = number(9);
      pair.rest = number(5);
      for (int i = 0; i < pair.both + 2 * pair.each + pair.rest; ++i)
        columns.push_back(number(slab_rows));
      values += 2 * (pair.both + pair.each) + pair.rest;
    }
    Fenced<kernels::CsrRowPair> fenced_row_pairs(row_pairs);
    Fenced<std::uint16_t> fenced_columns(columns);
    Fenced<float> weights(floats(normals(dice, {values}))),
        slab(floats(normals(dice, {slab_rows * kernels::panel_width})));
    const std::vector<float> c = floats(normals(dice, {c_rows * kernels::panel_width}));
    const kernels::CsrRowPairs view{fenced_row_pairs.data(), std::ssize(row_pairs),
                                    fenced_columns.data(), weights.data()};
    const auto run_with = [&](const kernels::CsrTable& table) {
      Fenced<float> panel(c);
      table.multiply_row_pairs(view, slab.data(), panel.data());
      return panel.values();
    };
    const std::vector<float> wanted = run_with(*kernels::csr_gemm_reference());
    for (const kernels::Isa isa : kernels::all_isas) {
      const kernels::CsrTable* table = kernels::csr_gemm_for(isa);
      if (!table) continue;
      const std::vector<float> got = run_with(*table);
      Index wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        wrong += !(std::abs(got[i] - wanted[i]) <= 1e-5f * (10 + std::abs(wanted[i])));
      CHECK_MESSAGE(wrong == 0, kernels::name_of(isa));
    }
  }
}

TEST_CASE("unpacked csr kernels match the reference on every ISA at any width") {
  Dice dice(6);
  const Index b_rows = 9, most = 300;
  for (int round = 0; round < 150; ++round) {
    const Index width = 1 + dice.below(round % 3 ? 40 : most), stride = width + dice.below(3),
                count = dice.below(6);
    std::vector<std::int64_t> first, last;
    std::int64_t entries = 0;
    for (Index r = 0; r < count; ++r) {
      entries += dice.below(3);  // entries between the rows, which are skipped
      first.push_back(entries);
      last.push_back(entries += dice.below(round % 2 ? 4 : 20));
    }
    std::vector<std::int32_t> numbers;
    for (std::int64_t e = 0; e < entries; ++e)
      numbers.push_back(static_cast<std::int32_t>(dice.below(b_rows)));
    // Up to the end of the last row, without the rest of its stride.
    const Index size = std::max<Index>(0, (count - 1) * stride + width);
    Fenced<std::int64_t> from(first), to(last);
    Fenced<std::int32_t> index(numbers);
    Fenced<float> values(floats(normals(dice, {entries}))), start(floats(normals(dice, {width}))),
        b(floats(normals(dice, {(b_rows - 1) * stride + width})));
    const std::vector<float> c = floats(normals(dice, {size})),
                             sums = floats(normals(dice, {entries}));
    const kernels::UnpackedCsr a{count, from.data(), to.data(), index.data(), values.data()};
    const auto run_with = [&](const kernels::CsrTable& table, int way) {
      Fenced<float> y(c), out(sums);
      if (way == 2)
        table.sample_unpacked(a, width, b.data(), stride, y.data(), stride, out.data());
      else
        table.multiply_unpacked(a, width, b.data(), stride, way ? start.data() : nullptr, y.data(),
                                stride);
      return way == 2 ? out.values() : y.values();
    };
    for (int way = 0; way < 3; ++way) {
      const std::vector<float> wanted = run_with(*kernels::csr_gemm_reference(), way);
      for (const kernels::Isa isa : kernels::all_isas) {
        const kernels::CsrTable* table = kernels::csr_gemm_for(isa);
        if (!table) continue;
        const std::vector<float> got = run_with(*table, way);
        Index wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i)
          wrong += !(std::abs(got[i] - wanted[i]) <= 1e-5f * (20 + std::abs(wanted[i])));
        CHECK_MESSAGE(wrong == 0, way, " ", width, " ", kernels::name_of(isa));
      }
    }
  }
}
