#include "kernels/reference/nmg_gemm.h"

namespace sten::kernels {
namespace {

void block(const NmgRows& rows, const NmgStripsInSlab& strips, const float* slab, const float* c_in,
           std::int64_t ld_in, float* c_out, std::int64_t ld_out) {
  for (std::int64_t r = 0; r < rows.m; ++r)
    for (std::int64_t j = 0; j < panel_width; ++j)
      c_out[r * ld_out + j] = c_in ? c_in[r * ld_in + j] : 0.0f;
  const auto add = [&](std::int64_t strip, std::int64_t pattern) {
    const float* b = slab + strips.offsets[strip] / sizeof(float);
    for (std::int64_t i = 0; i < rows.n; ++i) {
      float* c = c_out + rows.patterns[pattern * rows.n + i] * ld_out;
      for (std::int64_t j = 0; j < panel_width; ++j)
        c[j] += strips.values[strip * rows.n + i] * b[j];
    }
  };
  for (std::int64_t e = 0; e < strips.steps * rows.count; ++e) add(e, e % rows.count);
  std::int64_t strip = 0;
  for (std::int64_t p = 0; strips.steps < 0 && p < rows.count; ++p)
    for (std::int64_t e = 0; e < strips.counts[p]; ++e) add(strip++, p);
}

constexpr NmgGemmTable table{block, [](std::int64_t, std::int64_t) { return true; }};

}  // namespace

const NmgGemmTable* nmg_gemm_reference() { return &table; }

}  // namespace sten::kernels
