// SPDX-License-Identifier: Apache-2.0
// Attention on any activation layout.
#include "kernels/bf16_attention.h"
#include "libsten/compute/ops/attention/attention_call.h"
#include "libsten/compute/product/bf16_attention_product.h"
#include "libsten/model/execution/fused_operator.h"
#include "libsten/model/graph/node_errors.h"

namespace sten::execution {
namespace {

bool is_floats(const Slots& slots, std::size_t value) {
  const Value& v = slots[value];
  return v.is_in_panels() || (v.tensor && v.tensor->is<Dense>() &&
                              v.tensor->dtype() == DType::F32 && v.tensor->device() == Device::cpu);
}
Shape shape_of(const Slots& slots, std::size_t value) {
  const Value& v = slots[value];
  return v.is_in_panels() ? v.shape : v.tensor->shape();
}

Index elements_of(const Value& v) {
  return size_of(v.is_in_panels() ? v.shape : v.tensor->as<Dense>().extents);
}

class FusedAttention final : public FusedOperator {
 public:
  FusedAttention(std::vector<std::size_t> arguments, std::size_t value, AttentionExtents extents,
                 Shape shape, Shape mask_shape, bool interleaved)
      : arguments_(std::move(arguments)),
        value_(value),
        extents_(extents),
        shape_(std::move(shape)),
        mask_shape_(std::move(mask_shape)),
        pairs_(interleaved) {}

  void run(Slots& slots) override {
    const double start = step_time(slots);
    const AttentionExtents& a = extents_;
    const Index sizes[] = {a.heads * a.batch * a.tokens * a.width,
                           a.kv_heads() * a.batch * a.keys * a.width,
                           a.kv_heads() * a.batch * a.keys * a.v_width};
    for (std::size_t i = 0; i < 3; ++i)
      if (elements_of(slots[arguments_[i]]) != sizes[i]) throw PlanChanged{};
    if (!slots[value_].is_in_panels()) {
      if (pairs_)
        slots.allot_interleaved(value_, shape_);
      else
        slots.allot(value_, shape_);
    }
    if (arguments_.size() > 3) read_mask(slots.tensor(arguments_[3]));
    const Index tokens = tokens_of(shape_);
    const Value& to = slots[value_];
    if (pairs_) {
      const Interleaved q = pairs_of(slots, 0), k = pairs_of(slots, 1), v = pairs_of(slots, 2);
      attention_product(a, q, k, v, InterleavedOut{shape_.back(), tokens, to.interleaved});
    } else {
      attention_product(
          a, slots.activations(arguments_[0]), slots.activations(arguments_[1]),
          slots.activations(arguments_[2]),
          ActivationsOut{activation_layout_of(tokens), shape_.back(), tokens, to.panels});
    }
    steps.front().seconds = step_time(slots) - start;
  }

 private:
  // Interleaved argument; rounded if it is float32.
  Interleaved pairs_of(Slots& slots, std::size_t i) {
    const std::size_t from = arguments_[i];
    if (slots[from].interleaved) return slots.interleaved(from);
    const Activations x = slots.activations(from);
    const Index size = interleaved_size(x.features, x.tokens);
    if (std::ssize(rounded_[i]) != size) rounded_[i] = Array<std::uint16_t>::uninitialized(size);
    const InterleavedOut to{x.features, x.tokens, rounded_[i].mutate()};
    to_interleaved(x, to);
    return {to.features, to.tokens, to.at};
  }
  // Reads a mask of keys, or a bias.
  void read_mask(const Tensor& given) {
    const Dense& mask = given.as<Dense>();
    if (mask.extents != mask_shape_) throw PlanChanged{};
    if (mask.dtype() == DType::F32) {
      extents_.bias = mask.values.as<float>().data();
      return;
    }
    seen_.resize(mask.size());
    const auto read = [&](auto from) {
      for (std::size_t i = 0; i < seen_.size(); ++i) seen_[i] = from[i] != 0;
    };
    if (mask.dtype() == DType::I64)
      read(mask.values.as<std::int64_t>());
    else
      read(mask.values.as<std::int32_t>());
    extents_.seen = seen_.data();
  }

  std::vector<std::size_t> arguments_;
  std::size_t value_;
  AttentionExtents extents_;
  Shape shape_, mask_shape_;
  bool pairs_;
  std::vector<std::uint8_t> seen_;
  Array<std::uint16_t> rounded_[3];
};

// Whether the fourth input is a mask of keys, or a bias, whose steps are set in `a`.
bool takes_mask(const Value& given, AttentionExtents& a) {
  if (!given.tensor || !given.tensor->is<Dense>() || given.tensor->device() != Device::cpu)
    return false;
  const Dense& x = given.tensor->as<Dense>();
  if (x.dtype() == DType::I64 || x.dtype() == DType::I32)
    return x.extents == Shape{a.batch, a.keys};
  const auto steps = bias_steps(x.extents, {a.batch, a.heads, a.tokens, a.keys});
  if (x.dtype() != DType::F32 || !steps || (*steps)[3] != 1) return false;
  a.bias_steps = *steps;
  return true;
}

}  // namespace

std::unique_ptr<FusedOperator> fused_attention(const PlanContext& plan, std::size_t node,
                                               const Slots& slots) {
  const Node& n = plan.graph.nodes()[node];
  const std::vector<std::size_t>& in = plan.graph.arguments(node);
  if (n.op.text() != "attention" || in.size() < 3 || !n.formats.out.is_dense()) return nullptr;
  for (std::size_t i = 0; i < 3; ++i)
    if (!is_floats(slots, in[i]) || shape_of(slots, in[i]).size() != 3) return nullptr;
  const Shape q = shape_of(slots, in[0]), k = shape_of(slots, in[1]), v = shape_of(slots, in[2]);
  const bool low = plan.low[node];
  AttentionExtents a = with_node_name(
      n.name, [&] { return AttentionProblem("attention", n.attributes, q, k, v).extents(); });
  if (!fits_panels(q[1], low) || !fits_panels(q[0] * q[1], low) || v[2] == 0 || q[0] == 0)
    return nullptr;
  const Shape result{a.batch, a.tokens, a.heads * a.v_width};
  if (in.size() > 3 && !takes_mask(slots[in[3]], a)) return nullptr;
  const Shape mask_shape = in.size() > 3 ? slots[in[3]].tensor->shape() : Shape{};
  auto fused =
      std::make_unique<FusedAttention>(in, plan.value_of(node), a, result, mask_shape, low);
  bool in_place = true;
  for (std::size_t i = 0; i < 3; ++i) in_place = in_place && slots[in[i]].is_in_panels();
  in_place = in_place && lanes_of(k[1]) == panel_width &&
             (q[0] == 1 || (q[1] % panel_width == 0 && k[1] % panel_width == 0));
  ExecutionStep step{{n.name}, "attention", "panels", "", 0, a.flops(), 0};
  step.why =
      in_place ? "heads are read from panels, 64 keys at a time"
               : "heads are copied to panels: sequences do not begin at a panel, or have few keys";
  if (low) {
    step.layout = "interleaved";
    step.precision = Precision::bf16;
    step.why = kernels::has_tile_attention() && a.window == 0 && a.soft_cap == 0
                   ? "on matrix tiles: keys and values of a head are packed once"
                   : "without matrix tiles: in float32, one head at a time";
  }
  step.shape = result;
  step.bytes = (low ? 2.0 : 4.0) *
               static_cast<double>(size_of(q) + size_of(k) + size_of(v) + size_of(result));
  fused->steps.push_back(std::move(step));
  return fused;
}

}  // namespace sten::execution
