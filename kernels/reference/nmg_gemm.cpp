// SPDX-License-Identifier: Apache-2.0
#include "kernels/nmg_gemm.h"

#include <algorithm>

namespace sten::kernels {
namespace {

// Reads the strips of a slab in their stored order.
template <std::int64_t width>
struct Reader {
  NmgSlabStrips strips;
  const float* slab;

  const float* row() { return slab + *strips.offsets++ / (sizeof(float) * panel_width) * width; }
  void add(const float* b, float* c) {
    for (std::int64_t j = 0; j < width; ++j) c[j] += *strips.values * b[j];
    ++strips.values;
  }
};

// Product of a block pair, m rows each.
template <std::int64_t width>
void run_pair(std::int64_t m, NmgSlabStrips strips, const float* slab, float* c) {
  Reader<width> next{strips, slab};
  const std::int64_t shared = *strips.shared, rest = strips.steps % m;
  const auto first = [&](std::int64_t i) { return c + i * width; };
  const auto second = [&](std::int64_t j) { return c + (m + j) * width; };
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t k = 0; k < strips.steps / m; ++k)
      for (std::int64_t j = 0; j < m; ++j) {
        const float* b = next.row();
        const float* other = k < shared ? b : next.row();
        next.add(b, first(i));
        next.add(other, second(j));
      }
    for (std::int64_t k = 0; k < rest; ++k) next.add(next.row(), first(i));
  }
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t k = 0; k < rest; ++k) next.add(next.row(), second(j));
}

template <std::int64_t width>
void run(const NmgRows& rows, NmgSlabStrips strips, std::int64_t blocks, const float* slab,
         bool more, float* c_out, NmgFetch&) {
  if (!more) std::fill_n(c_out, blocks * rows.m * width, 0.0f);
  for (; strips.shared && blocks > 1; blocks -= 2) {
    run_pair<width>(rows.m, strips, slab, c_out);
    const std::int64_t count = 2 * strips.steps * rows.m;
    strips.offsets += count, strips.values += count, ++strips.shared;
    c_out += 2 * rows.m * width;
  }
  for (std::int64_t block = 0; block < blocks; ++block) {
    const auto add = [&](std::int64_t pattern) {  // the next strip in stored order
      const float* b = slab + *strips.offsets++ / (sizeof(float) * panel_width) * width;
      for (std::int64_t i = 0; i < rows.n; ++i) {
        float* c = c_out + (block * rows.m + rows.patterns[pattern * rows.n + i]) * width;
        for (std::int64_t j = 0; j < width; ++j) c[j] += *strips.values * b[j];
        ++strips.values;
      }
    };
    for (std::int64_t k = 0; strips.steps >= 0 && k < rows.groups; ++k)
      for (std::int64_t step = 0; step < strips.steps; ++step)
        for (std::int64_t p = rows.first_of(k); p < rows.first_of(k + 1); ++p) add(p);
    for (std::int64_t p = 0; strips.steps < 0 && p < rows.count; ++p)
      for (std::int64_t e = *strips.counts++; e > 0; --e) add(p);
  }
}

constexpr NmgGemmTable table{{run<8>, run<16>, run<32>, run<panel_width>},
                             [](std::int64_t, std::int64_t) -> std::int64_t { return 1; },
                             [](std::int64_t n, std::int64_t) { return n == 1; }};

}  // namespace

const NmgGemmTable* nmg_gemm_reference() { return &table; }

}  // namespace sten::kernels
