#include "kernels/reference/nmg_gemm.h"

namespace sten::kernels {

void nmg_block_reference(const NmgRows& rows, const NmgRuns& runs, const float* slab,
                         const float* c_in, std::int64_t ld_in, float* c_out, std::int64_t ld_out) {
  for (std::int64_t r = 0; r < rows.m; ++r)
    for (std::int64_t j = 0; j < panel_width; ++j)
      c_out[r * ld_out + j] = c_in ? c_in[r * ld_in + j] : 0.0f;
  std::int64_t strip = 0;
  for (std::int64_t p = 0; p < rows.count; ++p)
    for (std::int64_t e = 0; e < runs.counts[p]; ++e, ++strip) {
      const float* b = slab + runs.offsets[strip] / sizeof(float);
      for (std::int64_t i = 0; i < rows.n; ++i) {
        float* c = c_out + rows.patterns[p * rows.n + i] * ld_out;
        for (std::int64_t j = 0; j < panel_width; ++j)
          c[j] += runs.values[strip * rows.n + i] * b[j];
      }
    }
}

}  // namespace sten::kernels
