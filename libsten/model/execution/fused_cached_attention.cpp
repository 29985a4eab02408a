// SPDX-License-Identifier: Apache-2.0
// Causal attention with a KV cache.
#include <algorithm>

#include "libsten/compute/ops/attention/attention_call.h"
#include "libsten/core/base/text.h"
#include "libsten/model/execution/fused_operator.h"
#include "libsten/model/graph/node_errors.h"

namespace sten::execution {
namespace {

class FusedCachedAttention final : public FusedOperator {
 public:
  FusedCachedAttention(const KeyValueCaches& caches, KeyValueCache& cache,
                       std::vector<std::size_t> arguments, std::size_t value,
                       const AttentionExtents& extents)
      : caches_(caches),
        cache_(cache),
        arguments_(std::move(arguments)),
        value_(value),
        extents_(extents) {}

  void run(Slots& slots) override {
    const double start = step_time(slots);
    const Activations q = slots.activations(arguments_[0]), k = slots.activations(arguments_[1]),
                      v = slots.activations(arguments_[2]);
    const Index heads = extents_.heads, kv_heads = extents_.kv_heads();
    const Index features = heads * extents_.v_width;
    const std::span<const CachedToken> at = caches_.run;
    if (std::ssize(at) != q.tokens) fail("expected {} cached tokens, got {}", q.tokens, at.size());
    if (q.tokens != extents_.tokens || k.tokens != q.tokens || v.tokens != q.tokens ||
        q.features != heads * extents_.width || k.features != kv_heads * extents_.width ||
        v.features != kv_heads * extents_.v_width)
      throw PlanChanged{};
    cache_.write(at, k, v);
    Shape shape{1, q.tokens, features};
    if (!fits_panels(q.tokens)) {
      Dense y{shape, Values::uninitialized(DType::F32, size_of(shape))};
      const ActivationsOut rows{ActivationLayout::tokens, features, q.tokens,
                                y.values.mutate<float>().data()};
      cache_.attend(at, q, extents_, rows);
      slots[value_].tensor = std::move(y);
      if (steps.front().bytes == 0) slots.note_tensor(value_);
    } else {
      if (!slots[value_].panels) slots.allot(value_, shape);
      const ActivationsOut y{activation_layout_of(q.tokens), features, q.tokens,
                             slots[value_].panels};
      // The first tokens of a sequence have no earlier ones.
      const bool is_one = std::ranges::all_of(
          at, [&](const CachedToken& t) { return t.sequence == at.front().sequence; });
      if (at.front().position == 0 && is_one)
        attention_product(extents_, q, k, v, y);
      else
        cache_.attend(at, q, extents_, y);
    }
    ExecutionStep& s = steps.front();
    AttentionExtents all = extents_;
    all.keys = std::ranges::max(at, {}, &CachedToken::position).position + 1;
    s.flops = all.flops();
    s.bytes = (is_low() ? 2.0 : 4.0) * static_cast<double>((all.keys - all.first_key(0)) *
                                                           kv_heads * (all.width + all.v_width)) +
              4.0 * static_cast<double>(all.tokens * (q.features + features));
    s.seconds = step_time(slots) - start;
  }

 private:
  bool is_low() const { return cache_.extents().dtype == DType::BF16; }

  const KeyValueCaches& caches_;
  KeyValueCache& cache_;
  std::vector<std::size_t> arguments_;
  std::size_t value_;
  AttentionExtents extents_;
};

Shape shape_in(const Slots& slots, std::size_t value) {
  const Value& v = slots[value];
  return v.is_in_panels() ? v.shape : v.tensor->shape();
}

}  // namespace

std::unique_ptr<FusedOperator> fused_cached_attention(const PlanContext& plan,
                                                      KeyValueCaches& caches, std::size_t node,
                                                      const Slots& slots) {
  const Node& n = plan.graph.nodes()[node];
  if (n.op.text() != "attention") return nullptr;
  const std::vector<std::size_t>& in = plan.graph.arguments(node);
  const auto fail_at = [&](const std::string& why) {
    fail_usage("node {}: attention with a KV cache: {}", quote(n.name), why);
  };
  if (n.attributes.integer("causal", 0) == 0) fail_at("expected causal attention");
  if (in.size() != 3) fail_at("expected 3 inputs, without a mask or a bias");
  for (const std::size_t x : in)
    if (!slots[x].is_in_panels() &&
        !(slots[x].tensor->is<Dense>() && slots[x].tensor->dtype() == DType::F32))
      fail_at("expected dense F32 inputs");
  const Shape q = shape_in(slots, in[0]), k = shape_in(slots, in[1]), v = shape_in(slots, in[2]);
  const AttentionExtents a = with_node_name(
      n.name, [&] { return AttentionProblem("attention", n.attributes, q, k, v).extents(); });
  if (a.batch != 1 || a.keys != a.tokens)
    fail_at(fmt::format("expected one sequence, got {}, {} and {}", to_string(q), to_string(k),
                        to_string(v)));
  const bool low = plan.low[node];
  const KeyValueCache::Extents extents{a.kv_heads(),
                                       a.width,
                                       a.v_width,
                                       caches.tokens,
                                       caches.sequences,
                                       a.group,
                                       low ? DType::BF16 : DType::F32};
  const auto [at, is_new] = caches.of.try_emplace(n.name, extents);
  if (at->second.extents() != extents) fail_at("unexpected heads or precision for its cache");
  auto fused =
      std::make_unique<FusedCachedAttention>(caches, at->second, in, plan.value_of(node), a);
  ExecutionStep step{{n.name}, "attention", "cache", "keys and values of earlier tokens are kept",
                     0,        0,           0};
  if (low) {
    step.why += ", in bfloat16";
    step.precision = Precision::bf16;
  }
  fused->steps.push_back(std::move(step));
  return fused;
}

}  // namespace sten::execution
