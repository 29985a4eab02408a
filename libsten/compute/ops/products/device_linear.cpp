// SPDX-License-Identifier: Apache-2.0
// Linear layers on a device: x dense or masked, w dense, masked, csr or nmg.
#include "libsten/compute/product/device_linear.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/products/device_product_output.h"
#include "libsten/compute/ops/products/linear.h"

namespace sten {
namespace {

Outputs linear_on_device(const Call& call) {
  const LinearCall l(call);
  const float* from = elements_on_device("linear", l.x);
  const float* b = l.bias ? floats_on_device("linear", *l.bias) : nullptr;
  Dense y = output_on_device(l.y);
  float* to = floats_of_output(y);
  device_linear(l.w, l.tokens, from, b, to);
  return {std::move(y)};
}

Outputs linear_grad_on_device(const Call& call) {
  const LinearCall l(call, 1);
  const float* g = elements_on_device("linear.grad", call.in[0]);
  const float* from = elements_on_device("linear.grad", l.x);
  Outputs grads(call.formats.size());
  if (call.wants(0))
    grads[0] = gradient_on_device("linear.grad", call, 0, l.x, [&](float* to, bool adds) {
      device_transposed_linear(l.w, l.tokens, g, to, adds);
    });
  if (call.wants(1) && !has_dense_values(l.w) && !call.out(1).tmp.is(Dense::name)) {
    check_same_pattern("linear.grad", l.w, call.out(1));
    grads[1] = device_sampled_linear(l.w, l.tokens, g, from);
  } else if (call.wants(1)) {
    grads[1] = gradient_on_device("linear.grad", call, 1, l.w, [&](float* to, bool adds) {
      device_gemm(gemm_operands(l.out, l.in, l.tokens, {g, l.out, true}, {from, l.in},
                                {to, l.in, adds ? 1.0F : 0.0F}));
    });
  }
  if (l.bias && call.wants(2)) {
    grads[2] = output_of({l.out}, &kernels::MapFunctions::sum_rows, l.tokens, l.out, g);
  }
  return grads;
}

}  // namespace

void add_device_linear(Operators& all) {
  const Name dense("dense"), masked("masked");
  for (const bool has_bias : {false, true}) {
    const auto inputs = [&](std::vector<Name> in) {
      if (has_bias) in.push_back(dense);
      return in;
    };
    for (const Name w : device_product_layouts)
      for (const Name x : {dense, masked}) {
        add_device_operator(all, "linear", inputs({x, w}), linear_on_device);
        for (const Name dy : {dense, masked})
          add_device_product_grad(all, "linear.grad", inputs({dy, x, w}), {0, 1},
                                  linear_grad_on_device);
      }
  }
}

}  // namespace sten
