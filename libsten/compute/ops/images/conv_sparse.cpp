// SPDX-License-Identifier: Apache-2.0
// Convolutions with a sparse weight: products of the matrix [out, in * taps] with patches of x. For
// 1x1 kernels of stride 1, x is its patches.
#include "libsten/compute/linalg/convolution_product.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/images/conv.h"
#include "libsten/compute/ops/products/bias.h"
#include "libsten/compute/ops/products/product_output.h"
#include "libsten/compute/product/sampled_product.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/layout/as_matrix.h"

namespace sten {
namespace {

// Calls f(first output position of all images, count, patches [count, in * taps]) for tiles of
// output positions.
class Patches {
 public:
  explicit Patches(const Convolution& c)
      : c_(c),
        length_(c.in * c.taps()),
        all_(c.batch * c.output_positions()),
        at_once_(std::clamp<Index>((Index{1} << 19) / length_, 64, 4096)),
        memory_(is_pointwise(c) ? 0 : std::min(at_once_, all_) * length_) {}

  Index length() const { return length_; }
  // Patches of x; for nullptr, room that f writes.
  template <class F>
  void each(const float* x, F&& f) {
    for (Index begin = 0; begin < all_; begin += at_once_) {
      const Index count = std::min(at_once_, all_ - begin);
      if (x) gather(x, begin, count);
      f(begin, count, memory_.data());
    }
  }
  // Adds the patches of output positions of one image to its pixels.
  void scatter(Index begin, Index count, float* dx) const {
    for (Index p = begin; p < begin + count; ++p)
      add_patch_by_channel(c_, memory_.data() + (p - begin) * length_, p % c_.output_positions(),
                           dx + p / c_.output_positions() * c_.pixels() * c_.in);
  }

 private:
  void gather(const float* x, Index begin, Index count) {
    parallel_for(count, 32, [&](Index first, Index last) {
      for (Index p = first; p < last; ++p)
        gather_patch_by_channel(c_, x + (begin + p) / c_.output_positions() * c_.pixels() * c_.in,
                                (begin + p) % c_.output_positions(), memory_.data() + p * length_);
    });
  }

  const Convolution& c_;
  Index length_, all_, at_once_;
  std::vector<float> memory_;
};

Outputs sparse_convolution(const Call& call) {
  const ConvCall g("conv", false, call, 0);
  const float* b = g.has_bias ? values_of<float>(call.in[2]) : nullptr;
  return {write_whole<float>(call.out(), g.result, [&](float* to) {
    convolve_sparse(g.c, values_of<float>(call.in[0]), call.in[1], to, {.bias = b});
  })};
}

// The gradient of w at its positions, summed over tiles.
Tensor weights_gradient(const Convolution& c, const Tensor& w, const float* dy, const float* x) {
  if (is_pointwise(c)) return sampled_linear(w, c.batch * c.output_positions(), dy, x);
  std::optional<Values> sum;
  Patches(c).each(x, [&](Index begin, Index count, const float* patches) {
    const Tensor term = sampled_linear(w, count, dy + begin * c.out, patches);
    if (!sum) {
      sum = *term.values();
      return;
    }
    const auto from = term.values()->as<float>();
    const auto to = sum->mutate<float>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  });
  return w.with_values(sum ? *std::move(sum) : Values(DType::F32, w.values()->size()));
}

Outputs sparse_convolution_grad(const Call& call) {
  const ConvCall g("conv.grad", false, call, 1);
  const Convolution& c = g.c;
  const Dense& dy = call.in[0].as<Dense>();
  const Tensor &x = call.in[1], &given = call.in[2];
  const Tensor& w = as_matrix(given);
  check_factor(w);
  const float *from = dy.values.as<float>().data(), *in = values_of<float>(x);
  Outputs grads(call.formats.size());
  if (call.wants(0))
    grads[0] = write_whole<float>(call.out(0), x.shape(), [&](float* to) {
      if (is_pointwise(c))
        return sparse_transposed_linear(w, c.batch * c.output_positions(), from, to);
      std::fill_n(to, size_of(x.shape()), 0.0f);
      Patches tiles(c);
      tiles.each(nullptr, [&](Index begin, Index count, float* patches) {
        sparse_transposed_linear(w, count, from + begin * c.out, patches);
        tiles.scatter(begin, count, to);
      });
    });
  if (call.wants(1) && call.out(1).is_same_pattern()) {
    check_same_pattern("conv.grad", given, call.out(1));
    grads[1] = given.with_values(*weights_gradient(c, w, from, in).values());
  } else if (call.wants(1)) {
    grads[1] = write_whole<float>(call.out(1), given.shape(),
                                  [&](float* to) { convolve_weights(c, in, from, to); });
  }
  if (g.has_bias && call.wants(2))
    grads[2] = bias_gradient(call.out(2), c.batch * c.output_positions(), c.out, from);
  return grads;
}

}  // namespace

void convolve_sparse(const Convolution& c, const float* x, const Tensor& given, float* y,
                     const Epilogue& epilogue) {
  const Tensor& w = as_matrix(given);
  check_factor(w);
  const Index length = c.in * c.taps(), all = c.batch * c.output_positions();
  const auto product = [&](Index begin, Index count, const float* patches) {
    Epilogue part = epilogue;
    if (part.residual) part.residual += begin * c.out;
    sparse_product(w, {ActivationLayout::tokens, length, count, patches},
                   {ActivationLayout::tokens, c.out, count, y + begin * c.out}, part);
  };
  if (is_pointwise(c)) return product(0, all, x);
  Patches(c).each(x, product);
}

void add_sparse_convolutions(Operators& all) {
  for (const Name layout : sparse_product_layouts()) {
    if (layout == Name("masked")) continue;  // like dense, in conv.cpp
    for (const bool has_bias : {false, true}) {
      std::vector<Name> in{"dense", layout};
      if (has_bias) in.emplace_back("dense");
      add_streamed(all, "conv", in, 1, sparse_convolution);
      in.insert(in.begin(), "dense");
      add_product_grad(all, "conv.grad", in, {1}, sparse_convolution_grad);
    }
  }
}

}  // namespace sten
