// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/bf16_linear.h"

#include "libsten/compute/product/bf16_product.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/low_floats.h"

namespace sten {
namespace {

constexpr Index conversion_grain = Index{1} << 14;

Array<float> widened_floats(const std::uint16_t* x, Index n) {
  auto to = Array<float>::uninitialized(static_cast<std::size_t>(n));
  float* out = to.mutate();
  parallel_for(n, conversion_grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) out[i] = kernels::widen_bf16(x[i]);
  });
  return to;
}

void round_floats(const float* x, Index n, std::uint16_t* y) {
  parallel_for(n, conversion_grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) y[i] = kernels::round_to_bf16(x[i]);
  });
}

struct Widened {
  Tensor weight;
};
const Tensor& widened_weight(const Tensor& a) {
  return a.derived().get<Widened>([&] { return Widened{widened(a)}; })->weight;
}

}  // namespace

void bf16_linear(const Tensor& a, Index n, const std::uint16_t* x, const float* bias,
                 std::uint16_t* y) {
  const Shape shape = a.shape();
  const Index out = shape[0], in = shape[1];
  if (n == 0 || out == 0) return;
  auto sums = Array<float>::uninitialized(static_cast<std::size_t>(n * out));
  const ActivationsOut to{ActivationLayout::tokens, out, n, sums.mutate()};
  if (const Bf16ProductImpl* impl = bf16_product_impl(a, n)) {
    auto tiles = Array<std::uint16_t>::uninitialized(interleaved_size(in, n));
    const InterleavedOut interleaved{in, n, tiles.mutate()};
    to_interleaved(Activations16{ActivationLayout::tokens, in, n, x}, interleaved);
    impl->pack(a).to_floats({in, n, interleaved.at}, to, {.bias = bias});
  } else {
    const Array<float> floats = widened_floats(x, n * in);
    sparse_product(widened_weight(a), {ActivationLayout::tokens, in, n, floats.data()}, to,
                   {.bias = bias});
  }
  round_floats(sums.data(), n * out, y);
}

void bf16_transposed_linear(const Tensor& a, Index n, const std::uint16_t* dy, std::uint16_t* dx) {
  const Shape shape = a.shape();
  const Array<float> floats = widened_floats(dy, n * shape[0]);
  auto sums = Array<float>::uninitialized(static_cast<std::size_t>(n * shape[1]));
  sparse_transposed_linear(widened_weight(a), n, floats.data(), sums.mutate());
  round_floats(sums.data(), n * shape[1], dx);
}

}  // namespace sten
