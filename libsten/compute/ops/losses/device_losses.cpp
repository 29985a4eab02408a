// SPDX-License-Identifier: Apache-2.0
// Losses on a device.
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/device_indices.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/losses/loss.h"

namespace sten {
namespace {

using kernels::RowClasses;

// Calls f(targets in the form of kernels).
template <class F>
void with_classes_on_device(const std::string& op, const ClassLossCall& g, F&& f) {
  RowClasses c{integers_on_device(op, g.targets), size_of(g.targets.shape()), g.n, g.ignore,
               nullptr};
  counting_invalid_indices(
      g.targets, fmt::format("classes {} {}", g.n, g.ignore),
      [op, n = g.n, ignore = g.ignore](const Dense& numbers) {
        named_classes(op, numbers, n, ignore);
      },
      [&](std::uint32_t* bad) {
        c.bad = bad;
        f(c);
      });
}

Outputs cross_entropy_on_device(const Call& call) {
  const char* op = "cross-entropy";
  const CrossEntropyCall g(op, call, 0);
  const float* x = floats_on_device(op, call.in[0]);
  Dense loss = output_on_device({});
  with_classes_on_device(op, g, [&](const RowClasses& c) {
    launch(&kernels::RowFunctions::cross_entropy, x, c, g.smoothing, floats_of_output(loss));
  });
  return {std::move(loss)};
}

Outputs cross_entropy_grad_on_device(const Call& call) {
  Outputs out(2);
  if (!call.wants(0)) return out;
  const char* op = "cross-entropy.grad";
  const CrossEntropyCall g(op, call, 1);
  const float *dy = floats_on_device(op, call.in[0]), *x = floats_on_device(op, call.in[1]);
  Dense dx = output_on_device(g.logits.extents);
  with_classes_on_device(op, g, [&](const RowClasses& c) {
    launch(&kernels::RowFunctions::cross_entropy_grad, dy, x, c, g.smoothing, floats_of_output(dx));
  });
  out[0] = std::move(dx);
  return out;
}

Outputs kl_divergence_on_device(const Call& call) {
  const char* op = "kl-divergence";
  const KlDivergenceCall g(op, call, 0);
  const float *x = floats_on_device(op, call.in[0]), *wanted = floats_on_device(op, call.in[1]);
  Dense loss = output_on_device({});
  with_classes_on_device(op, g, [&](const RowClasses& c) {
    launch(&kernels::RowFunctions::kl_divergence, x, wanted, c, g.temperature,
           floats_of_output(loss));
  });
  return {std::move(loss)};
}

// Gradients of the first two inputs, by fill(dx, dy), where an unwanted one is nullptr.
template <class F>
Outputs two_gradients(const Call& call, const Shape& shape, F&& fill) {
  Outputs out(call.in.size() - 1);
  std::optional<Dense> made[2];
  float* to[2] = {};
  for (std::size_t i = 0; i < 2; ++i)
    if (call.wants(i)) to[i] = floats_of_output(made[i].emplace(output_on_device(shape)));
  if (to[0] || to[1]) fill(to[0], to[1]);
  for (std::size_t i = 0; i < 2; ++i)
    if (made[i]) out[i] = *std::move(made[i]);
  return out;
}

Outputs kl_divergence_grad_on_device(const Call& call) {
  const char* op = "kl-divergence.grad";
  const KlDivergenceCall g(op, call, 1);
  const float* in[3];
  for (std::size_t i = 0; i < 3; ++i) in[i] = floats_on_device(op, call.in[i]);
  return two_gradients(call, g.logits.extents, [&](float* dx, float* dwanted) {
    with_classes_on_device(op, g, [&](const RowClasses& c) {
      launch(&kernels::RowFunctions::kl_divergence_grad, in[0], in[1], in[2], c, g.temperature, dx,
             dwanted);
    });
  });
}

Outputs mse_on_device(const Call& call) {
  const MseCall g("mse", call, 0);
  const float *a = floats_on_device("mse", call.in[0]), *b = floats_on_device("mse", call.in[1]);
  return {output_of({}, &kernels::RowFunctions::mse, a, b, g.x.size())};
}

Outputs mse_grad_on_device(const Call& call) {
  const char* op = "mse.grad";
  const MseCall g(op, call, 1);
  const float* in[3];
  for (std::size_t i = 0; i < 3; ++i) in[i] = floats_on_device(op, call.in[i]);
  return two_gradients(call, g.x.extents, [&](float* dx, float* dy) {
    launch(&kernels::RowFunctions::mse_grad, in[0], in[1], in[2], g.x.size(), dx, dy);
  });
}

}  // namespace

void add_device_losses(Operators& all) {
  add_device_operator(all, "cross-entropy", 2, cross_entropy_on_device);
  add_device_operator(all, "cross-entropy.grad", 3, cross_entropy_grad_on_device, 2);
  add_device_operator(all, "kl-divergence", 3, kl_divergence_on_device);
  add_device_operator(all, "kl-divergence.grad", 4, kl_divergence_grad_on_device, 3);
  add_device_operator(all, "mse", 2, mse_on_device);
  add_device_operator(all, "mse.grad", 3, mse_grad_on_device, 2);
}

}  // namespace sten
