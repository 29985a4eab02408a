// SPDX-License-Identifier: Apache-2.0
// Gathers of elements of any dtype by indices along an axis, and of slices by tuples of indices.
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/shapes/gathered_slices.h"
#include "libsten/core/dispatch/operators.h"

namespace sten {
namespace {

using GatheredSlicesOf = GatheredSlices (*)(const char* op, const Call& call, const Shape& x,
                                            const Dense& ids);

GatheredSlices elements_of(const char* op, const Call& call, const Shape& x, const Dense& ids) {
  call.attributes.check(op, {"axis"});
  return gather_elements_slices(op, call.attributes.integer("axis", 0), x, ids);
}
GatheredSlices tuples_of(const char* op, const Call& call, const Shape& x, const Dense& ids) {
  call.attributes.check(op, {"batch-dims"});
  return gather_nd_slices(op, call.attributes.integer("batch-dims", 0), x, ids);
}

// The gradient reads ids.
void add_gather(Operators& all, const char* op, const char* grad, GatheredSlicesOf slices_of) {
  all.declare(op, {SavedForBackward::others});
  all.add({op, {"dense", "dense"}, {{}}}, [=](const Call& call) -> Outputs {
    const Dense& x = call.in[0].as<Dense>();
    return {gather_slices(x, slices_of(op, call, x.extents, call.in[1].as<Dense>()))};
  });
  all.add({grad, {"dense", "dense"}, {{}, {}}}, [=](const Call& call) -> Outputs {
    Outputs out(2);
    if (!call.wants(0)) return out;
    const Shape& x = input_shape(grad, call, 0);
    const GatheredSlices slices = slices_of(grad, call, x, call.in[1].as<Dense>());
    out[0] = gather_slices_grad(grad, call.in[0].as<Dense>(), x, slices);
    return out;
  });
}

}  // namespace

void add_gather_elements(Operators& all) {
  add_gather(all, "gather-elements", "gather-elements.grad", elements_of);
  add_gather(all, "gather-nd", "gather-nd.grad", tuples_of);
}

}  // namespace sten
