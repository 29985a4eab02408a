#include "kernels/reference/csr.h"

namespace sten::kernels {

void csr_panel_reference(const CsrView& a, std::int64_t begin, std::int64_t end, const float* b,
                         float* c, std::int64_t ldc) {
  for (std::int64_t r = begin; r < end; ++r)
    for (std::int64_t j = 0; j < panel_width; ++j) {
      float sum = 0;
      for (std::int64_t e = a.ptr[r]; e < a.ptr[r + 1]; ++e)
        sum += a.values[e] * b[a.index[e] * panel_width + j];
      c[r * ldc + j] = sum;
    }
}

}  // namespace sten::kernels
