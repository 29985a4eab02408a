#include "kernels/reference/nmg_gemm.h"

#include <algorithm>

namespace sten::kernels {
namespace {

template <std::int64_t width>
void run(const NmgRows& rows, NmgSlabStrips strips, std::int64_t blocks, const float* slab,
         bool more, float* c_out, NmgFetch&) {
  if (!more) std::fill_n(c_out, blocks * rows.m * width, 0.0f);
  for (std::int64_t block = 0; block < blocks; ++block) {
    const auto add = [&](std::int64_t pattern) {  // the next strip
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
                             [](std::int64_t, std::int64_t) -> std::int64_t { return 1; }};

}  // namespace

const NmgGemmTable* nmg_gemm_reference() { return &table; }

}  // namespace sten::kernels
