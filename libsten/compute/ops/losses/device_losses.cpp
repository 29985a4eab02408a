// Losses on a device.
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/device_indices.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/losses/loss.h"

namespace sten {
namespace {

using kernels::RowClasses;

const float* scalar_on_device(std::string_view op, const Tensor& dy, DType dtype) {
  check_gradient(op, dy.as<Dense>(), {});
  check_dtypes(op, "the gradient", dy.dtype(), "logits", dtype);
  return floats_on_device(op, dy);
}

// Calls f(targets in the form of kernels) for checked logits.
void with_classes_on_device(const std::string& op, const Call& call, const Dense& logits,
                            const Tensor& targets,
                            const std::function<void(const RowClasses&)>& f) {
  const Dense& given = targets.as<Dense>();
  check_classes(op, logits, given);
  const Index n = logits.extents.back(), ignore = ignored_class(call.attributes);
  RowClasses c{integers_on_device(op, targets), given.size(), n, ignore, nullptr};
  counting_invalid_indices(
      targets, fmt::format("classes {} {}", n, ignore),
      [op, n, ignore](const Dense& numbers) { named_classes(op, numbers, n, ignore); },
      [&](std::uint32_t* bad) {
        c.bad = bad;
        f(c);
      });
}

Outputs cross_entropy_on_device(const Call& call) {
  const std::string op = "cross-entropy";
  const double smoothing = smoothing_of(op.c_str(), call);
  const float* x = floats_on_device(op, call.in[0]);
  Dense loss = output_on_device({});
  with_classes_on_device(op, call, call.in[0].as<Dense>(), call.in[1], [&](const RowClasses& c) {
    launch(&kernels::RowFunctions::cross_entropy, x, c, smoothing, floats_of_output(loss));
  });
  return {std::move(loss)};
}

Outputs cross_entropy_grad_on_device(const Call& call) {
  Outputs out(2);
  if (!call.wants(0)) return out;
  const std::string op = "cross-entropy.grad";
  const double smoothing = smoothing_of(op.c_str(), call);
  const Dense& logits = call.in[1].as<Dense>();
  const float* dy = scalar_on_device(op, call.in[0], logits.dtype());
  const float* x = floats_on_device(op, call.in[1]);
  Dense dx = output_on_device(logits.extents);
  with_classes_on_device(op, call, logits, call.in[2], [&](const RowClasses& c) {
    launch(&kernels::RowFunctions::cross_entropy_grad, dy, x, c, smoothing, floats_of_output(dx));
  });
  out[0] = std::move(dx);
  return out;
}

Outputs kl_divergence_on_device(const Call& call) {
  const std::string op = "kl-divergence";
  const double temperature = temperature_of(op.c_str(), call);
  const Dense& logits = call.in[0].as<Dense>();
  check_alike(op, "logits", logits, "those wanted", call.in[1].as<Dense>());
  const float *x = floats_on_device(op, call.in[0]), *wanted = floats_on_device(op, call.in[1]);
  Dense loss = output_on_device({});
  with_classes_on_device(op, call, logits, call.in[2], [&](const RowClasses& c) {
    launch(&kernels::RowFunctions::kl_divergence, x, wanted, c, temperature,
           floats_of_output(loss));
  });
  return {std::move(loss)};
}

// Gradients of the first two inputs, if wanted.
struct TwoGradients {
  std::optional<Dense> out[2];
  float* to[2] = {};

  TwoGradients(const Call& call, const Shape& shape) {
    for (std::size_t i = 0; i < 2; ++i)
      if (call.wants(i)) to[i] = floats_of_output(out[i].emplace(output_on_device(shape)));
  }
  bool wanted() const { return to[0] || to[1]; }
  Outputs take(std::size_t inputs) {
    Outputs all(inputs);
    for (std::size_t i = 0; i < 2; ++i)
      if (out[i]) all[i] = *std::move(out[i]);
    return all;
  }
};

Outputs kl_divergence_grad_on_device(const Call& call) {
  const std::string op = "kl-divergence.grad";
  const double temperature = temperature_of(op.c_str(), call);
  const Dense& logits = call.in[1].as<Dense>();
  check_alike(op, "logits", logits, "those wanted", call.in[2].as<Dense>());
  const float* dy = scalar_on_device(op, call.in[0], logits.dtype());
  const float *x = floats_on_device(op, call.in[1]), *wanted = floats_on_device(op, call.in[2]);
  TwoGradients grads(call, logits.extents);
  if (grads.wanted())
    with_classes_on_device(op, call, logits, call.in[3], [&](const RowClasses& c) {
      launch(&kernels::RowFunctions::kl_divergence_grad, dy, x, wanted, c, temperature, grads.to[0],
             grads.to[1]);
    });
  return grads.take(3);
}

Outputs mse_on_device(const Call& call) {
  call.attributes.check("mse", {});
  const Dense& x = call.in[0].as<Dense>();
  check_alike("mse", "x", x, "y", call.in[1].as<Dense>());
  const float *a = floats_on_device("mse", call.in[0]), *b = floats_on_device("mse", call.in[1]);
  Dense loss = output_on_device({});
  launch(&kernels::RowFunctions::mse, a, b, x.size(), floats_of_output(loss));
  return {std::move(loss)};
}

Outputs mse_grad_on_device(const Call& call) {
  const char* op = "mse.grad";
  call.attributes.check(op, {});
  const Dense& x = call.in[1].as<Dense>();
  check_gradient(op, call.in[0].as<Dense>(), {});
  check_alike(op, "x", x, "y", call.in[2].as<Dense>());
  check_dtypes(op, "the gradient", call.in[0].dtype(), "x", x.dtype());
  const float* in[3];
  for (std::size_t i = 0; i < 3; ++i) in[i] = floats_on_device(op, call.in[i]);
  TwoGradients grads(call, x.extents);
  if (grads.wanted())
    launch(&kernels::RowFunctions::mse_grad, in[0], in[1], in[2], x.size(), grads.to[0],
           grads.to[1]);
  return grads.take(2);
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
