// SPDX-License-Identifier: Apache-2.0
// Epilogues of products: bias, residual and activation, applied to sums that are still in L1.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

enum class Activation {
  none,
  relu,       // max(x, 0); NaN stays
  gelu,       // x/2 (1 + erf(x / sqrt 2)), to 2e-7 of |x|
  gelu_tanh,  // x/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), to 4e-7 of |x|
  silu        // x / (1 + e^-x), to 2e-7 of |x|
};

struct EpilogueTable {
  // c[r][j] = activation(scale * c[r][j] + bias[r] + residual[r][j]) for rows of stride ldc. bias
  // [rows], residual [rows, columns]; nullptr: omitted.
  void (*finish)(float* c, std::int64_t ldc, std::int64_t rows, std::int64_t columns, float scale,
                 const float* bias, const float* residual, std::int64_t ld_residual,
                 Activation activation);
  // to[r][j] = from[r][j], with non-temporal stores of whole cache lines, which are not read from
  // memory before they are written. Call stream_done() before other threads read the rows.
  void (*stream)(const float* from, std::int64_t ld_from, std::int64_t rows, std::int64_t columns,
                 float* to, std::int64_t ld_to);
  void (*stream_done)();
};

// nullptr unless has_isa(isa).
const EpilogueTable* epilogue_for(Isa isa);
// The table for active_isa().
const EpilogueTable& epilogue();

}  // namespace sten::kernels
