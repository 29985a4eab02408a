// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/single_token.h"

#include <algorithm>

namespace sten {
namespace {

struct TokenValues {
  alignas(64) float at[most_token_values];

  template <class E, class F>
  TokenValues(const float* sums, Index step, Index row, Index count, const E& epilogue,
              F&& residual) {
    for (Index r = 0; r < count; ++r) at[r] = epilogue.scale * sums[r * step];
    if (epilogue.bias)
      for (Index r = 0; r < count; ++r) at[r] += epilogue.bias[row + r];
    if (epilogue.residual)
      for (Index r = 0; r < count; ++r) at[r] += residual(r);
    if (epilogue.activation != kernels::Activation::none)
      kernels::epilogue().finish(at, count, 1, count, 1, nullptr, nullptr, count,
                                 epilogue.activation);
  }
};

}  // namespace

void write_token(const float* sums, Index step, Index row, Index count, const ActivationsOut& y,
                 const Epilogue& epilogue) {
  const Index stride = y.layout == ActivationLayout::tokens ? 1 : y.stride();
  const float* residual = epilogue.residual;
  const TokenValues values(sums, step, row, count, epilogue,
                           [&](Index r) { return residual[(row + r) * stride]; });
  float* const to = y.at + row * stride;
  if (stride == 1)
    std::copy_n(values.at, count, to);
  else
    for (Index r = 0; r < count; ++r) to[r * stride] = values.at[r];
}

void write_token(const float* sums, Index step, Index row, Index count, const InterleavedOut& y,
                 const InterleavedEpilogue& epilogue) {
  const TokenValues values(sums, step, row, count, epilogue, [&](Index r) {
    return kernels::widen_bf16(epilogue.residual[row + r]);
  });
  kernels::interleaved().round_features(values.at, 1, count, 1, y.at + row, y.stride());
  if (row + count == y.features)
    std::fill(y.at + row + count, y.at + padded_features(y.features), std::uint16_t{0});
}

}  // namespace sten
