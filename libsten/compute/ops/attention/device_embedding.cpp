// SPDX-License-Identifier: Apache-2.0
// Embedding and gather on a device.
#include "libsten/compute/ops/attention/embedding.h"
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/device_indices.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

using kernels::RowIds;

// Calls f(ids in the form of kernels).
void with_ids_on_device(const std::string& op, bool is_gather, const RowsCall& g, const Tensor& ids,
                        const std::function<void(const RowIds&)>& f) {
  RowIds r{integers_on_device(op, ids), g.ids.size(), g.outer, g.extent, g.n, is_gather, nullptr};
  if (r.count >= Index{1} << 31 || r.extent >= Index{1} << 31)
    fail_unsupported("{} on a device supports fewer than 2^31 elements and rows", op);
  const std::string what = fmt::format("{} {}", is_gather, g.extent);
  counting_invalid_indices(
      ids, what,
      [op, is_gather, shape = g.table.extents, axis = g.axis](const Dense& numbers) {
        named_rows(op, is_gather, shape, axis, numbers);
      },
      [&](std::uint32_t* bad) {
        r.bad = bad;
        f(r);
      });
}

// For any dtype whose rows are whole words.
Outputs take_rows_on_device(bool is_gather, const Call& call) {
  const std::string op = is_gather ? "gather" : "embedding";
  const RowsCall g(op.c_str(), is_gather, call, 0);
  constexpr int word = 4;
  const Index bytes = g.n * width_of(g.table.dtype());
  if (bytes % word != 0)
    fail_unsupported("{} on a device needs rows of whole 4 bytes, got {} x {}", op, g.n,
                     name_of(g.table.dtype()));
  Dense y = output_on_device(g.shape, g.table.dtype());
  with_ids_on_device(op, is_gather, g, call.in[1], [&](RowIds r) {
    r.n = bytes / word;
    launch(&kernels::RowFunctions::take_rows, g.table.values.bytes().data(), r,
           y.values.mutate_bytes());
  });
  return {std::move(y)};
}

Outputs take_rows_grad_on_device(bool is_gather, const Call& call) {
  const std::string op = is_gather ? "gather.grad" : "embedding.grad";
  Outputs out(2);
  if (!call.wants(0)) return out;
  const RowsCall g(op.c_str(), is_gather, call, 1);
  const float* from = floats_on_device(op, call.in[0]);
  with_ids_on_device(op, is_gather, g, call.in[2], [&](const RowIds& r) {
    const auto write = [&](Values& v, bool adds) {
      launch(&kernels::RowFunctions::sum_rows_by_id, from, r, adds,
             reinterpret_cast<float*>(v.mutate_bytes()));
    };
    // Most rows of a large table have no gradient: adds to the sum only the others.
    out[0] = call.add_to_sum(0, [&](Values& v) { write(v, true); });
    if (out[0]) return;
    Dense dx = output_on_device(g.table.extents);
    write(dx.values, false);
    out[0] = std::move(dx);
  });
  return out;
}

}  // namespace

void add_device_embedding(Operators& all) {
  for (const bool is_gather : {false, true}) {
    add_device_operator(all, is_gather ? "gather" : "embedding", 2,
                        [=](const Call& call) { return take_rows_on_device(is_gather, call); });
    add_device_operator(
        all, is_gather ? "gather.grad" : "embedding.grad", 3,
        [=](const Call& call) { return take_rows_grad_on_device(is_gather, call); }, 2);
  }
}

}  // namespace sten
