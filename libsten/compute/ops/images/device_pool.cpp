// SPDX-License-Identifier: Apache-2.0
// Pooling on a device.
#include <algorithm>

#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/images/pool_call.h"

namespace sten {
namespace {

using kernels::Pools;

template <bool is_adaptive, bool is_max>
Pools pools_on_device(const PoolCall<is_adaptive, is_max>& g) {
  const Windows& w = g.w;
  constexpr Index most = (Index{1} << 30) - 1;
  const auto check = [&](Index n) {
    if (n > most)
      fail_unsupported("{} on a device supports images of fewer than 2^30 pixels", g.op);
  };
  Pools p{w.batch, w.channels, {}, is_max, g.counts_pads};
  Index pixels = w.batch, output_positions = w.batch;
  for (std::size_t d = 0; d < 3; ++d) {
    const WindowAxis x = w.axis(d);
    check(w.size[d] + x.before + x.after);
    if (x.is_adaptive) check(w.size[d] * (w.result[d] + 1));
    check(pixels *= w.size[d]);
    check(output_positions *= w.result[d]);
    const auto number = [=](Index n) { return static_cast<std::int32_t>(std::min(n, most)); };
    p.axes[d] = {number(w.size[d]),  number(w.result[d]), number(x.kernel), number(x.stride),
                 number(x.dilation), number(x.before),    number(x.after),  x.is_adaptive};
  }
  return p;
}

template <bool is_adaptive, bool is_max>
Outputs pool_on_device(const Call& call) {
  const PoolCall<is_adaptive, is_max> g(call);
  const Pools p = pools_on_device(g);
  const float* from = floats_on_device(g.op, call.in[0]);
  return {output_of(g.w.shape(), &kernels::RowFunctions::pool, from, p)};
}

template <bool is_adaptive, bool is_max>
Outputs pool_grad_on_device(const Call& call) {
  if (!call.wants(0)) return {std::nullopt};
  const PoolCall<is_adaptive, is_max> g(call, true);
  const Pools p = pools_on_device(g);
  const float* from = floats_on_device(g.op, call.in[0]);
  const float* x = is_max ? floats_on_device(g.op, call.in[1]) : nullptr;
  return {output_of(g.x, &kernels::RowFunctions::pool_grad, from, x, p)};
}

template <bool is_adaptive, bool is_max>
void add_pool_operators_on_device(Operators& all) {
  const std::string op = pool_name<is_adaptive, is_max>;
  add_device_operator(all, op, 1, pool_on_device<is_adaptive, is_max>);
  add_device_operator(all, op + ".grad", is_max ? 2 : 1, pool_grad_on_device<is_adaptive, is_max>);
}

}  // namespace

void add_device_pools(Operators& all) {
  add_pool_operators_on_device<false, true>(all);
  add_pool_operators_on_device<false, false>(all);
  add_pool_operators_on_device<true, true>(all);
  add_pool_operators_on_device<true, false>(all);
}

}  // namespace sten
