// SPDX-License-Identifier: Apache-2.0
// Batch norm on a device.
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/norms/batch_norm.h"

namespace sten {
namespace {

using kernels::ChannelGrads;
using kernels::ChannelNorm;

// [2, channels] in F64, computed at first use and cached with x, for its gradient and
// batch-moments.
struct DeviceMoments {
  Dense of;
};
const double* moments_on_device(std::string_view op, const Tensor& x) {
  const auto cached = x.derived().get<DeviceMoments>([&] {
    const Dense& d = x.as<Dense>();
    const Index n = d.extents.back(), rows = n == 0 ? 0 : d.size() / n;
    const float* from = floats_on_device(op, x);
    Dense m = output_on_device({2, n}, DType::F64);
    launch(&kernels::RowFunctions::channel_moments, from, rows, n,
           reinterpret_cast<double*>(m.values.mutate_bytes()));
    return DeviceMoments{std::move(m)};
  });
  return reinterpret_cast<const double*>(cached->of.values.bytes().data());
}

ChannelNorm channel_norm_on_device(std::string_view op, bool trains, const BatchNormCall& g,
                                   const Call& call, std::size_t first) {
  const float* given[4] = {};
  for (std::size_t i = 0; i < g.given.size(); ++i)
    given[i] = floats_on_device(op, call.in[first + 1 + i]);
  ChannelNorm c{g.n, g.eps, g.relu, given[0], given[1], nullptr, given[2], given[3]};
  if (trains) c.moments = moments_on_device(op, call.in[first]);
  return c;
}

template <bool trains>
Outputs normalise_on_device(const Call& call) {
  const char* op = batch_norm_name<trains>;
  const BatchNormCall g(op, trains, call, 0);
  const float* x = floats_on_device(op, call.in[0]);
  const ChannelNorm c = channel_norm_on_device(op, trains, g, call, 0);
  return {output_of(g.x.extents, &kernels::RowFunctions::channel_norm, x, g.rows, c)};
}

template <bool trains>
Outputs normalise_grad_on_device(const Call& call) {
  const char* op = batch_norm_grad_name<trains>;
  const BatchNormCall g(op, trains, call, 1);
  const float *dy = floats_on_device(op, call.in[0]), *x = floats_on_device(op, call.in[1]);
  const ChannelNorm c = channel_norm_on_device(op, trains, g, call, 1);
  ChannelGrads to;
  float** const offsets[] = {&to.dgamma, &to.dbeta, &to.dmean, &to.dvariance};
  Outputs out(call.formats.size());
  std::vector<std::optional<Dense>> channels(out.size());
  for (std::size_t i = 1; i < out.size(); ++i)
    if (call.wants(i))
      *offsets[i - 1] = floats_of_output(channels[i].emplace(output_on_device({g.n})));
  const auto write = [&](Values* dx, bool adds) {
    if (dx) to.dx = reinterpret_cast<float*>(dx->mutate_bytes());
    to.adds = adds;
    launch(&kernels::RowFunctions::channel_norm_grad, dy, x, g.rows, c, to);
  };
  if (call.wants(0)) {
    out[0] = call.add_to_sum(0, [&](Values& sum) { write(&sum, true); });
    if (!out[0]) {
      Dense dx = output_on_device(g.x.extents);
      write(&dx.values, false);
      out[0] = std::move(dx);
    }
  } else {
    write(nullptr, false);
  }
  for (std::size_t i = 1; i < out.size(); ++i)
    if (channels[i]) out[i] = *std::move(channels[i]);
  return out;
}

Outputs batch_moments_on_device(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  const double factor = variance_factor(call, x);
  const Index n = x.extents.back();
  const double* moments = moments_on_device("batch-moments", call.in[0]);
  return {output_of({2, n}, &kernels::RowFunctions::float_moments, moments, n, factor)};
}

template <bool trains>
void add_batch_norm_operators_on_device(Operators& all) {
  const std::size_t inputs = trains ? 3 : 5;
  add_device_operator(all, batch_norm_name<trains>, inputs, normalise_on_device<trains>);
  add_device_operator(all, batch_norm_grad_name<trains>, inputs + 1,
                      normalise_grad_on_device<trains>, inputs);
}

}  // namespace

void add_device_batch_norm(Operators& all) {
  add_batch_norm_operators_on_device<true>(all);
  add_batch_norm_operators_on_device<false>(all);
  add_device_operator(all, "batch-moments", 1, batch_moments_on_device);
}

}  // namespace sten
