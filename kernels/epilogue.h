// What follows a product, on sums that are still in the first cache.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

enum class Activation {
  none,
  relu,  // max(x, 0); NaN stays
  gelu   // x/2 (1 + erf(x / sqrt 2)), to 2e-7 of |x|
};

// c[r][j] = activation(scale * c[r][j] + bias[r] + residual[r][j]) for rows of row stride ldc.
// bias and residual: nullptr for none.
using Finish = void(float* c, std::int64_t ldc, std::int64_t rows, std::int64_t columns,
                    float scale, const float* bias, const float* residual, std::int64_t ld_residual,
                    Activation activation);

// nullptr where has_isa() says no.
Finish* finish_for(Isa isa);
// Of active_isa().
Finish& finish();

}  // namespace sten::kernels
