// SPDX-License-Identifier: Apache-2.0
// Elementwise functions on a device.
#include <cmath>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/elementwise/dropout.h"
#include "libsten/compute/ops/elementwise/unary_rows.h"

namespace sten {
namespace {

Outputs map_on_device(const UnaryRow& row, const Call& call) {
  const float* x = floats_on_device(row.name, call.in[0]);
  const auto p = row.parameters<float>(call.attributes);
  return {output_of(call.in[0].shape(), &kernels::MapFunctions::map, row.function, p,
                    size_of(call.in[0].shape()), x)};
}

Outputs map_grad_on_device(const UnaryRow& row, const std::string& grad, const Call& call) {
  if (!call.wants(0)) return {std::nullopt};
  const Tensor &dy = call.in[0], &saved = call.in.back();
  check_alike(grad, "the gradient", dy.as<Dense>(), "the tensor that was kept", saved.as<Dense>());
  const float *from = floats_on_device(grad, dy), *with = floats_on_device(grad, saved);
  const auto p = row.parameters<float>(call.attributes);
  return {output_of(dy.shape(), &kernels::MapFunctions::map_grad, row.function, p,
                    size_of(dy.shape()), from, with)};
}

// Drops the same elements of the gradient.
Outputs dropout_on_device(const Call& call) {
  const DropoutCall given(call, 1);
  Outputs out(call.formats.size());
  if (!call.wants(0)) return out;
  const float* x = floats_on_device("dropout", call.in[0]);
  const std::int64_t* draw = given.draw ? integers_on_device("dropout", call.in[1]) : nullptr;
  // k / 2^53 < p if and only if k < p * 2^53.
  const auto dropped = static_cast<std::uint64_t>(std::ceil(given.p * 0x1p53));
  const auto by = static_cast<float>(given.scale());
  out[0] = output_of(call.in[0].shape(), &kernels::MapFunctions::drop, dropped, given.seed, draw,
                     by, size_of(call.in[0].shape()), x);
  return out;
}

}  // namespace

void add_device_maps(Operators& all) {
  for (const UnaryRow& row : unary_rows()) {
    const std::string grad = std::string(row.name) + ".grad";
    const bool saves_nothing = row.saves == SavedForBackward::nothing;
    add_device_operator(all, row.name, 1,
                        [&row](const Call& call) { return map_on_device(row, call); });
    add_device_operator(all, grad, saves_nothing ? 1 : 2, [&row, grad](const Call& call) {
      return map_grad_on_device(row, grad, call);
    });
  }
  for (const std::size_t inputs : {1, 2}) {
    add_device_operator(all, "dropout", inputs, dropout_on_device);
    add_device_operator(all, "dropout.grad", inputs, dropout_on_device, inputs);
  }
}

}  // namespace sten
