// SPDX-License-Identifier: Apache-2.0
// RMS norm on a device.
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/norms/rms_norm.h"

namespace sten {
namespace {

kernels::RmsNorm norm_on_device(const char* op, const RmsNormCall& g, const Tensor& weight) {
  return {g.rows(), g.n, floats_on_device(op, weight), g.has_offset, g.eps};
}

Outputs rms_norm_on_device(const Call& call) {
  const char* op = "rms-norm";
  const RmsNormCall g(op, call, 0);
  const float* from = floats_on_device(op, call.in[0]);
  return {output_of(g.x.extents, &kernels::RowFunctions::rms_norm, from,
                    norm_on_device(op, g, call.in[1]))};
}

Outputs rms_norm_grad_on_device(const Call& call) {
  const char* op = "rms-norm.grad";
  const RmsNormCall g(op, call, 1);
  const float *dy = floats_on_device(op, call.in[0]), *x = floats_on_device(op, call.in[1]);
  const kernels::RmsNorm norm = norm_on_device(op, g, call.in[2]);
  Outputs grads(2);
  std::optional<Dense> dx, dweight;
  float* const to_weight =
      call.wants(1) ? floats_of_output(dweight.emplace(output_on_device({g.n}))) : nullptr;
  const auto run = [&](float* to, bool adds) {
    launch(&kernels::RowFunctions::rms_norm_grad, dy, x, norm, to, adds, to_weight);
  };
  if (call.wants(0))
    grads[0] = call.add_to_sum(
        0, [&](Values& sum) { run(reinterpret_cast<float*>(sum.mutate_bytes()), true); });
  if (!grads[0]) {
    if (call.wants(0)) dx = output_on_device(g.x.extents);
    if (dx || dweight) run(dx ? floats_of_output(*dx) : nullptr, false);
    if (dx) grads[0] = *std::move(dx);
  }
  if (dweight) grads[1] = *std::move(dweight);
  return grads;
}

}  // namespace

void add_device_rms_norm(Operators& all) {
  add_device_operator(all, "rms-norm", 2, rms_norm_on_device);
  add_device_operator(all, "rms-norm.grad", 3, rms_norm_grad_on_device, 2);
}

}  // namespace sten
