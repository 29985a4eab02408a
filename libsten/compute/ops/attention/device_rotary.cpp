// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding on a device. The gradient of frequencies is the CPU's.
#include "libsten/compute/ops/attention/rotary.h"
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

// Rotates x, or back its gradient; `first` is the input x of the operator.
Dense rotated_on_device(const char* op, const Call& call, std::size_t first, bool back) {
  const RotaryCall g(op, call, first);
  const kernels::RotaryRows rows{g.batch * g.tokens,
                                 g.heads,
                                 g.width,
                                 g.pairs,
                                 g.interleaved,
                                 static_cast<float>(g.scale),
                                 integers_on_device(op, call.in[first + 1]),
                                 g.positions.size(),
                                 floats_on_device(op, call.in[first + 2])};
  return output_of(g.x.extents, &kernels::RowFunctions::rotate, floats_on_device(op, call.in[0]),
                   rows, back);
}

Outputs rotary_on_device(const Call& call) { return {rotated_on_device("rotary", call, 0, false)}; }

Outputs rotary_grad_on_device(const Call& call) {
  const char* op = "rotary.grad";
  if (call.wants(2)) fail_unsupported("{} on a device has no gradient of frequencies", op);
  Outputs grads(3);
  if (call.wants(0)) grads[0] = rotated_on_device(op, call, 1, true);
  return grads;
}

}  // namespace

void add_device_rotary(Operators& all) {
  add_device_operator(all, "rotary", 3, rotary_on_device);
  add_device_operator(all, "rotary.grad", 4, rotary_grad_on_device, 3);
}

}  // namespace sten
