// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "kernels/families.h"
#include "kernels/nm_sample.h"
#include "libsten/core/layout/nmg_patterns.h"
#include "tests/kernels/fenced.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using kernels::panel_width;

namespace {

// Row blocks in a slab, with random numbers of strips.
struct SampleCase {
  static constexpr Index slab_rows = 9;
  Index n, m, blocks, panels, strips = 0;
  std::vector<std::uint16_t> patterns, counts, columns;

  SampleCase(Dice& dice, Index of_n, Index of_m)
      : n(of_n), m(of_m), blocks(dice.below(4)), panels(1 + dice.below(2)) {
    const auto table = PatternTable::get(n, m);
    patterns.assign(table->data(), table->data() + table->count() * n);
    for (Index run = 0; run < blocks * table->count(); ++run)
      counts.push_back(static_cast<std::uint16_t>(dice.below(4)));
    for (const std::uint16_t count : counts) strips += count;
    for (Index i = 0; i < strips; ++i)
      columns.push_back(static_cast<std::uint16_t>(dice.below(slab_rows)));
  }
  Index rows() const { return blocks * m; }
};

kernels::PanelsIn panels_at(const float* at, Index features, Index count) {
  return {{at, count > 1 ? at + features * panel_width : nullptr}, count};
}

}  // namespace

TEST_CASE("sampled n:m kernels match the reference on every ISA without out-of-bounds access") {
  Dice dice(6);
  const std::pair<Index, Index> formats[] = {{1, 1}, {1, 4}, {2, 4}, {1, 10},
                                             {3, 5}, {4, 6}, {2, 2}, {7, 8}};
  for (int round = 0; round < 200; ++round) {
    const auto& format = formats[round % std::size(formats)];
    const SampleCase it(dice, format.first, format.second);
    Fenced<std::uint16_t> counts(it.counts), columns(it.columns);
    Fenced<float> dy(floats(normals(dice, {it.panels * it.rows() * panel_width}))),
        x(floats(normals(dice, {it.panels * SampleCase::slab_rows * panel_width})));
    const std::vector<float> sums = floats(normals(dice, {it.strips * it.n}));
    const kernels::NmStrips strips{
        it.patterns.data(), it.n,          it.m,          std::ssize(it.patterns) / it.n,
        it.blocks,          counts.data(), columns.data()};
    const kernels::PanelsIn of_dy = panels_at(dy.data(), it.rows(), it.panels),
                            of_x = panels_at(x.data(), SampleCase::slab_rows, it.panels);
    const auto sampled = [&](const kernels::NmSampleTable& table) {
      Fenced<float> out(sums);
      alignas(64) static float work[4096 * 16];
      table.sample(strips, of_x, of_dy, work, out.data());
      return out.values();
    };
    const kernels::NmSampleTable& reference = *kernels::nm_sample_reference();
    const std::vector<float> wanted = sampled(reference);
    for (const kernels::Isa isa : kernels::all_isas) {
      const kernels::NmSampleTable* table = kernels::nm_sample_for(isa);
      CHECK((table != nullptr) == kernels::has_isa(isa));
      if (!table) continue;
      const std::vector<float> got = sampled(*table);
      Index wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        wrong += !(std::abs(got[i] - wanted[i]) <= 1e-5f * (10 + std::abs(wanted[i])));
      CHECK_MESSAGE(wrong == 0, it.n, ":", it.m, " ", kernels::name_of(isa));
    }
  }
}
