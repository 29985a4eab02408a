// SPDX-License-Identifier: Apache-2.0
// Convolution, residual and relu in one pass, for inference, without a gradient.
#include "kernels/reference/convolution.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/images/conv.h"
#include "libsten/compute/ops/products/product_output.h"
#include "libsten/compute/product/sparse_product.h"

namespace sten {
namespace {

const float* residual_of(const ConvCall& g, const Call& call) {
  return g.has_residual ? values_of<float>(call.in.back()) : nullptr;
}
const float* bias_for_relu(const ConvCall& g, const Call& call) {
  return g.has_bias ? values_of<float>(call.in[2]) : nullptr;
}

Outputs dense_conv_relu(const Call& call) {
  const ConvCall g("conv-relu", false, call, 0);
  const Tensor &x = call.in[0], &w = call.in[1];
  if (x.dtype() == DType::F64)
    return {write_whole<double>(call.out(), g.result, [&](double* to) {
      kernels::convolve_reference(g.c, values_of<double>(x), values_of<double>(w),
                                  g.has_bias ? values_of<double>(call.in[2]) : nullptr, to);
      const double* more = g.has_residual ? values_of<double>(call.in.back()) : nullptr;
      for (Index i = 0; i < size_of(g.result); ++i) {
        const double y = to[i] + (more ? more[i] : 0);
        to[i] = y < 0 ? 0 : y;
      }
    })};
  check_dtypes("conv-relu", "x", x.dtype(), "F32", DType::F32);
  return {write_whole<float>(call.out(), g.result, [&](float* to) {
    w.derived()
        .get<PackedWeightCache>([] { return PackedWeightCache(); })
        ->convolve(g.c, values_of<float>(x), values_of<float>(w), bias_for_relu(g, call), to,
                   {true, residual_of(g, call)});
  })};
}

Outputs sparse_conv_relu(const Call& call) {
  const ConvCall g("conv-relu", false, call, 0);
  const float* more = residual_of(g, call);
  return {write_whole<float>(call.out(), g.result, [&](float* to) {
    convolve_sparse(g.c, values_of<float>(call.in[0]), call.in[1], to,
                    {.bias = bias_for_relu(g, call),
                     .residual = more,
                     .activation = kernels::Activation::relu});
  })};
}

}  // namespace

void add_conv_relu(Operators& all) {
  all.declare("conv-relu", {SavedForBackward::nothing});
  for (const std::size_t more : {0, 1, 2}) {
    const auto add = [&](Name layout, Implementation f) {
      std::vector<Name> in{"dense", layout};
      in.insert(in.end(), more, "dense");
      add_streamed(all, "conv-relu", in, 1, std::move(f));
    };
    for (const char* layout : {"dense", "masked"}) add(layout, dense_conv_relu);
    for (const Name layout : sparse_product_layouts())
      if (layout != Name("masked")) add(layout, sparse_conv_relu);
  }
}

}  // namespace sten
