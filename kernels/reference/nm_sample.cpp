// SPDX-License-Identifier: Apache-2.0
#include "kernels/nm_sample.h"

namespace sten::kernels {
namespace {

// Calls f(index of the value, its row, its column) for every value.
template <class F>
void each_value(const NmStrips& a, F&& f) {
  std::int64_t strip = 0;
  for (std::int64_t run = 0; run < a.blocks * a.count; ++run)
    for (std::int64_t e = 0; e < a.counts[run]; ++e, ++strip)
      for (std::int64_t i = 0; i < a.n; ++i)
        f(strip * a.n + i, run / a.count * a.m + a.patterns[run % a.count * a.n + i],
          std::int64_t{a.columns[strip]});
}

void sample(const NmStrips& a, const PanelsIn& x, const PanelsIn& dy, float*, float* sums) {
  each_value(a, [&](std::int64_t value, std::int64_t row, std::int64_t column) {
    float sum = 0;
    for (std::int64_t p = 0; p < x.count; ++p)
      for (std::int64_t j = 0; j < panel_width; ++j)
        sum += dy.of[p][row * panel_width + j] * x.of[p][column * panel_width + j];
    sums[value] += sum;
  });
}

constexpr NmSampleTable table{sample};

}  // namespace

const NmSampleTable* nm_sample_reference() { return &table; }

}  // namespace sten::kernels
