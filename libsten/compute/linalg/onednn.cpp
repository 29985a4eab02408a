// SPDX-License-Identifier: Apache-2.0
#include "kernels/isa.h"
#include "libsten/compute/linalg/dense_library.h"
#include "libsten/compute/linalg/onednn_library.h"

namespace sten {

std::optional<DenseLibrary> load_onednn() {
  const auto sgemm = onednn::function<decltype(&dnnl_sgemm)>("dnnl_sgemm");
  const auto version = onednn::function<decltype(&dnnl_version)>("dnnl_version");
  if (!sgemm || !version) return std::nullopt;
  const dnnl_version_t* v = version();
  DenseLibrary library{
      "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
          std::to_string(v->patch),
      [sgemm](Transpose transposed, Index m, Index n, Index k, const float* a, const float* b,
              float* c, int threads) {
        const onednn::SignalsHeld held;
        const onednn::TeamOf team(threads);
        const bool at = transposed == Transpose::a, bt = transposed == Transpose::b;
        sgemm(at ? 'T' : 'N', bt ? 'T' : 'N', m, n, k, 1, a, at ? m : k, b, bt ? k : n, 0, c, n);
      }};
  // oneDNN's AVX2 kernels sum the last rows of a call in another order, and divide rows evenly.
  if (kernels::active_isa() == kernels::Isa::avx2) {
    library.rows = [sgemm](Transpose transposed, Index m, Index n, Index k, const float* a,
                           Index lda, const float* b, float* c) {
      const onednn::SignalsHeld held;
      const onednn::TeamOf team(1);
      const bool at = transposed == Transpose::a, bt = transposed == Transpose::b;
      sgemm(at ? 'T' : 'N', bt ? 'T' : 'N', m, n, k, 1, a, lda, b, bt ? k : n, 0, c, n);
    };
    library.row_step = product_rows;
    library.in_stripes = true;
  }
  return library;
}

}  // namespace sten
