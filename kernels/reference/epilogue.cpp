// SPDX-License-Identifier: Apache-2.0
#include "kernels/epilogue.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sten::kernels {
namespace {

float activated(double x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return static_cast<float>(x < 0 ? 0 : x);
    case Activation::gelu:
      return static_cast<float>(x / 2 * (1 + std::erf(x / std::sqrt(2.0))));
    case Activation::gelu_tanh:
      return static_cast<float>(
          x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))));
    case Activation::silu:
      return static_cast<float>(x / (1 + std::exp(-x)));
    default:
      return static_cast<float>(x);
  }
}

void finish(float* c, std::int64_t ldc, std::int64_t rows, std::int64_t columns, float scale,
            const float* bias, const float* residual, std::int64_t ld_residual,
            Activation activation) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < columns; ++j) {
      float& x = c[r * ldc + j];
      x *= scale;
      if (bias) x += bias[r];
      if (residual) x += residual[r * ld_residual + j];
      x = activated(x, activation);
    }
}

void stream(const float* from, std::int64_t ld_from, std::int64_t rows, std::int64_t columns,
            float* to, std::int64_t ld_to) {
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(from + r * ld_from, columns, to + r * ld_to);
}
void stream_done() {}

constexpr EpilogueTable table{finish, stream, stream_done};

}  // namespace

const EpilogueTable* epilogue_reference() { return &table; }

}  // namespace sten::kernels
