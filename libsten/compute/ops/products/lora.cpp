// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters (LoRA, Hu et al. 2021) of a weight, whose zeros stay 0.
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/operators.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

// Operands and attributes; or with first = 1 those of the gradient, whose input 0 is the gradient
// of the output.
struct LoraCall {
  const Tensor &w, &a, &b;
  double scale;

  LoraCall(const char* op, const Call& call, std::size_t first)
      : w(call.in[first]),
        a(call.in[first + 1]),
        b(call.in[first + 2]),
        scale(call.attributes.number("scale", 1)) {
    call.attributes.check(op, {"scale"});
    check_dtypes(op, "w", w.dtype(), "a", a.dtype());
    check_dtypes(op, "w", w.dtype(), "b", b.dtype());
    const Shape w_shape = w.shape(), a_shape = a.shape(), b_shape = b.shape();
    if (w_shape.size() != 2 || a_shape.size() != 2 || b_shape.size() != 2 ||
        a_shape[0] != b_shape[1] || b_shape[0] != w_shape[0] || a_shape[1] != w_shape[1])
      fail_usage("{}: expected w [m, n], a [r, n] and b [m, r], got {}, {} and {}", op,
                 to_string(w_shape), to_string(a_shape), to_string(b_shape));
    if (first == 1) check_gradient(op, call.in[0].as<Dense>(), w_shape);
  }

  Tensor scaled(const Tensor& x) const {
    return apply("scale", {x}, Attributes().set("by", scale));
  }
  // x with 0 where w is 0.
  Tensor where_kept(const Tensor& x) const {
    return apply("mul", {x, apply("abs", {apply("sign", {Tensor(w.to_dense())})})});
  }
};

Outputs lora(const Call& call) {
  const LoraCall g("lora", call, 0);
  const Tensor product = g.where_kept(g.scaled(apply("matmul", {g.b, g.a})));
  return {apply("add", {Tensor(g.w.to_dense()), product})};
}

Outputs lora_gradient(const Call& call) {
  const LoraCall g("lora.grad", call, 1);
  Outputs out(3);
  if (call.wants(0)) out[0] = call.in[0];
  if (!call.wants(1) && !call.wants(2)) return out;
  const Tensor dproduct = g.where_kept(call.in[0]);
  const auto transposed = [](const Tensor& x) { return apply("transpose", {x}); };
  if (call.wants(1)) out[1] = g.scaled(apply("matmul", {transposed(g.b), dproduct}));
  if (call.wants(2)) out[2] = g.scaled(apply("matmul", {dproduct, transposed(g.a)}));
  return out;
}

}  // namespace

void add_lora(Operators& all) {
  const Name dense("dense");
  all.declare("lora", {SavedForBackward::inputs});
  all.add({"lora", {any::layout, dense, dense}, {{}}}, lora);
  all.add({"lora.grad", {dense, any::layout, dense, dense}, {{}, {}, {}}}, lora_gradient);
  for (const Name w : {dense, Name("masked")}) {
    add_device_operator(all, "lora", {w, dense, dense}, lora);
    add_device_operator(all, "lora.grad", {dense, w, dense, dense}, lora_gradient, 3);
  }
}

}  // namespace sten
