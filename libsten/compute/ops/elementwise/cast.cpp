// SPDX-License-Identifier: Apache-2.0
// Casts to another dtype, and the identity.
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

bool has_same_layout(const Signature& s) { return s.out[0].is_none() || s.in[0] == s.out[0].tmp; }

// Casts in the tensor's layout, with the same positions.
Tensor cast_to(std::string_view op, const Tensor& x, DType to) {
  if (!x.values()) fail_unsupported("{}: the layout {} has no field `values`", op, x.layout());
  return x.dtype() == to ? x : x.with_values(as_dtype(op, *x.values(), to));
}

DType wanted_dtype(const Call& call) {
  call.attributes.check("cast", {"to"});
  const std::string name = call.attributes.word("to", "");  // copied: the default is a temporary
  const std::optional<DType> to = dtype_from(name);
  if (!to) fail_usage("cast: unknown dtype '{}' of the attribute 'to'", name);
  return *to;
}

Outputs identity(const Call& call) {
  call.attributes.check("identity", {});
  if (!call.wants(0)) return {std::nullopt};
  return {call.in[0]};
}

}  // namespace

void add_casts(Operators& all) {
  const std::vector<OutSignature> same{{"keep-all", any::layout}};
  for (const Device device : {Device::cpu, Device::cuda}) {
    all.add(
        {"cast", {any::layout}, same, device},
        [](const Call& call) -> Outputs {
          return {cast_to("cast", call.in[0], wanted_dtype(call))};
        },
        has_same_layout);
    all.add(
        {"cast.grad", {any::layout, any::layout}, same, device},
        [](const Call& call) -> Outputs {
          if (!call.wants(0)) return {std::nullopt};
          return {cast_to("cast.grad", call.in[0], call.in[1].dtype())};
        },
        has_same_layout);
    for (const char* op : {"identity", "identity.grad"})
      all.add({op, {any::layout}, same, device}, identity, has_same_layout);
  }
  all.declare("identity", {SavedForBackward::nothing});
}

}  // namespace sten
