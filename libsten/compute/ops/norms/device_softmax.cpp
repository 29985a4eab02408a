// SPDX-License-Identifier: Apache-2.0
// Softmax, log-softmax and layer norm on a device.
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/norms/axis_rows.h"
#include "libsten/compute/ops/norms/layer_norm.h"

namespace sten {
namespace {

kernels::StridedRows softmax_rows_on_device(std::string_view op, const Call& call) {
  const Index axis = softmax_axis(op, call);
  const Shape shape = call.in.back().shape();
  const AxisRows lines(shape, axis);
  Index outer = 1;
  for (Index d = 0; d < axis; ++d) outer *= shape[d];
  return {outer, lines.length, lines.inner};
}

void add_softmax_operators_on_device(Operators& all, bool is_log) {
  static const std::string names[] = {"softmax", "log-softmax"};
  const std::string& op = names[is_log];
  add_device_operator(all, op, 1, [&op, is_log](const Call& call) -> Outputs {
    const kernels::StridedRows lines = softmax_rows_on_device(op, call);
    const float* from = floats_on_device(op, call.in[0]);
    return {output_of(call.in[0].shape(), &kernels::RowFunctions::softmax, from, lines, is_log)};
  });
  const std::string grad = op + ".grad";
  add_device_operator(all, grad, 2, [grad, is_log](const Call& call) -> Outputs {
    if (!call.wants(0)) return {std::nullopt};
    const kernels::StridedRows lines = softmax_rows_on_device(grad, call);
    const float *from = floats_on_device(grad, call.in[0]),
                *at = floats_on_device(grad, call.in[1]);
    return {output_of(call.in[1].shape(), &kernels::RowFunctions::softmax_grad, from, at, lines,
                      is_log)};
  });
}

Outputs layer_norm_on_device(const Call& call) {
  const LayerNormCall g("layer-norm", call, 0);
  const float* in[3];
  for (std::size_t i = 0; i < 3; ++i) in[i] = floats_on_device("layer-norm", call.in[i]);
  return {output_of(g.x.extents, &kernels::RowFunctions::layer_norm, in[0], g.rows(), g.n, in[1],
                    in[2], g.eps)};
}

Outputs layer_norm_grad_on_device(const Call& call) {
  const LayerNormCall g("layer-norm.grad", call, 1);
  const float* in[3];
  for (std::size_t i = 0; i < 3; ++i) in[i] = floats_on_device("layer-norm.grad", call.in[i]);
  const Shape shapes[] = {g.x.extents, {g.n}, {g.n}};
  std::optional<Dense> out[3];
  float* to[3] = {};
  const auto run = [&](bool adds) {
    if (!to[0] && !to[1] && !to[2]) return;
    launch(&kernels::RowFunctions::layer_norm_grad, in[0], in[1], g.rows(), g.n, in[2], g.eps,
           to[0], adds, to[1], to[2]);
  };
  for (std::size_t i = 1; i < 3; ++i)
    if (call.wants(i)) to[i] = floats_of_output(out[i].emplace(output_on_device(shapes[i])));
  Outputs grads(3);
  if (call.wants(0))
    grads[0] = call.add_to_sum(0, [&](Values& sum) {
      to[0] = reinterpret_cast<float*>(sum.mutate_bytes());
      run(true);
    });
  if (!grads[0]) {
    if (call.wants(0)) to[0] = floats_of_output(out[0].emplace(output_on_device(shapes[0])));
    run(false);
  }
  for (std::size_t i = 0; i < 3; ++i)
    if (out[i]) grads[i] = *std::move(out[i]);
  return grads;
}

}  // namespace

void add_device_softmax(Operators& all) {
  add_softmax_operators_on_device(all, false);
  add_softmax_operators_on_device(all, true);
  add_device_operator(all, "layer-norm", 3, layer_norm_on_device);
  add_device_operator(all, "layer-norm.grad", 4, layer_norm_grad_on_device, 3);
}

}  // namespace sten
