// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/plain.h"

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/indices.h"

namespace sten {

void add_plain(Operators& all, Name op, SavedForBackward saves, PlainOperator forward,
               PlainOperator backward, Runs where) {
  all.declare(op, {saves});
  for (const Device device : {Device::cpu, Device::cuda}) {
    if (device != Device::cpu && where != Runs::anywhere) continue;
    all.add({op, {"dense", any::more}, {{}}, device},
            [forward](const Call& call) -> Outputs { return {forward(call)}; });
    if (!backward) continue;
    all.add({std::string(op.text()) + ".grad", {"dense", any::more}, {{}, {"", any::more}}, device},
            [backward](const Call& call) -> Outputs {
              Outputs out(call.formats.size());
              if (call.wants(0)) out[0] = backward(call);
              return out;
            });
  }
}

namespace {

// The operator's input i. In its gradient, inputs come after dy, without the first one if only the
// others are saved. nullptr if missing.
const Tensor* given(const Call& call, std::size_t i) {
  const bool has_dy_more = !call.shapes.empty() && call.in.size() > call.shapes.size();
  const std::size_t at = i + (has_dy_more ? 1 : 0);
  return at < call.in.size() ? &call.in[at] : nullptr;
}

}  // namespace

std::vector<Index> list_of(std::string_view op, const Call& call, std::size_t i,
                           std::string_view name, const std::vector<Index>& fallback) {
  const Tensor* input = given(call, i);
  if (!input) return call.attributes.list(name, fallback);
  if (call.attributes.has(name))
    fail_usage("{}: '{}' is given both as an attribute and as an input", op, name);
  const Dense& x = input->as<Dense>();
  if (x.extents.size() > 1)
    fail_usage("{}: '{}' must have one axis, got shape {}", op, name, to_string(x.extents));
  return integers_of(op, name, x);
}

Index integer_of(std::string_view op, const Call& call, std::size_t i, std::string_view name,
                 Index fallback) {
  if (!given(call, i)) return call.attributes.integer(name, fallback);
  const std::vector<Index> all = list_of(op, call, i, name);
  if (all.size() != 1) fail_usage("{}: '{}' must be one integer, got {}", op, name, to_string(all));
  return all[0];
}

void check_inputs(std::string_view op, const Call& call, std::size_t most) {
  // In a gradient, the number of the operator's inputs.
  const std::size_t n = call.shapes.empty() ? call.in.size() : call.shapes.size();
  if (n > most) fail_usage("{}: {} inputs, expected at most {}", op, n, most);
}

std::vector<bool> axes_named(std::string_view op, const std::vector<Index>& axes, const Shape& x) {
  std::vector<bool> named(x.size());
  for (const Index a : axes) {
    const Index d = axis_of(op, a, x);
    if (named[d]) fail_usage("{}: axis {} occurs twice in {}", op, a, to_string(axes));
    named[d] = true;
  }
  return named;
}

}  // namespace sten
