// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libsten/core/layout/masked.h"
#include "libsten/model/execution/bf16_instructions.h"
#include "libsten/model/execution/chain_builder_language.h"
#include "libsten/model/execution/embeddings.h"

namespace sten::execution {
namespace {

// For each extent of the tokens, the step in ids, which are broadcast to these extents.
std::vector<Index> steps_in(const Shape& ids, const Shape& extents) {
  std::vector<Index> steps(extents.size());
  Index step = 1;
  for (std::size_t d = 1; d <= ids.size(); ++d) {
    const Index extent = ids[ids.size() - d];
    if (extent != 1) steps[extents.size() - d] = step;
    step *= extent;
  }
  return steps;
}

// Activations of products' epilogues.
kernels::Activation activation_of(std::string_view op) {
  using kernels::Activation;
  if (op == "relu") return Activation::relu;
  if (op == "gelu") return Activation::gelu;
  if (op == "gelu-tanh") return Activation::gelu_tanh;
  return op == "silu" ? Activation::silu : Activation::none;
}

class TokenChainBuilder : public LanguageChainBuilder {
 public:
  using LanguageChainBuilder::LanguageChainBuilder;

  // The number of nodes from `node` on that are a sum of embeddings, with which the chain can
  // start.
  std::size_t take_embeddings(std::size_t node) {
    const auto sum = match_embeddings(plan_, node, slots_);
    if (!sum) return 0;
    begin_node(node + sum->nodes - 1);
    if (!fits_panels(tokens_of(sum->shape), is_low())) return 0;
    auto step = std::make_unique<EmbedInstruction>();
    step->extents = chain_->tokens_shape = {sum->shape.begin(), sum->shape.end() - 1};
    step->features = sum->shape.back();
    step->y = add_value(sum->value, sum->shape.back(), false);
    ExecutionStep about{{}, "", "panels", "sum of rows, written in panels", 0, 0, 0};
    for (std::size_t i = 0; i < sum->nodes; ++i) {
      const Node& n = plan_.graph.nodes()[node + i];
      about.nodes.push_back(n.name);
      about.runs += (i == 0 ? "" : " + ") + std::string(n.op.text());
    }
    about.bytes = bytes(step->features, false);
    for (const auto& table : sum->tables)
      about.bytes += bytes(step->features, slots_[table.weight].tensor->dtype() == DType::BF16);
    for (const auto& [weight, ids] : sum->tables) {
      const Dense& from = slots_[ids].tensor->as<Dense>();
      chain_->rows.push_back(
          {ids, nullptr, nullptr, from.extents, step.get(), step->tables.size()});
      step->tables.push_back({*slots_[weight].tensor, steps_in(from.extents, step->extents),
                              from.dtype() == DType::I64});
    }
    const std::size_t y = step->y;
    write(std::move(step), y, std::move(about));
    return sum->nodes;
  }

  // Adds the node to the chain, if possible.
  bool take(std::size_t node) {
    const Node& n = plan_.graph.nodes()[node];
    begin_node(node);
    if (!n.formats.out.is_dense()) return false;
    const std::string_view op = n.op.text();
    if (op == "linear") return take_linear(n);
    if (op == "add") return take_add(n);
    if (op == "mul") return take_mul(n);
    if (op == "layer-norm") return take_norm(n);
    if (op == "rms-norm") return take_rms_norm(n);
    if (op == "rotary") return take_rotary(n);
    if (op == "slice") return take_slice(n);
    return take_map(n);
  }

  bool has_product() const { return has_product_; }

 private:
  // A dense weight [features].
  const Tensor* row(std::size_t i, Index features) const {
    const Tensor* w = weight(i);
    return w && is_floats(*w) && w->shape() == Shape{features} ? w : nullptr;
  }

  bool take_linear(const Node& n) {
    const std::vector<std::size_t>& in = plan_.graph.arguments(node_);
    if (in.size() < 2 || !n.attributes.all().empty()) return false;
    const Tensor* w = weight(1);
    if (!w || w->device() != Device::cpu) return false;
    const Shape shape = w->shape();
    if (shape.size() != 2 || shape[0] == 0 || w->spec().has("dims")) return false;
    const auto from = shape_of(in[0]);
    if (!from || from->back() != shape[1]) return false;
    const Bf16ProductImpl* low = is_low() ? bf16_product_impl(*w, tokens_of(*from)) : nullptr;
    const bool interleaved = low != nullptr;
    if (!interleaved && w->dtype() != DType::F32) return false;
    if (!interleaved && !has_dense_values(*w) && !has_sparse_product(w->layout())) return false;
    const Tensor* bias = in.size() > 2 ? row(2, shape[0]) : nullptr;
    if (in.size() > 2 && !bias) return false;
    const std::size_t x = value(in[0], *from, interleaved);
    std::unique_ptr<ProductInstruction> step;
    const char* const factor = tokens_of(*from) == 1 ? "a token" : "panels of tokens";
    std::string why = fmt::format("dense weight times {}", factor);
    const bool to_floats = !low || plan_.wants_tensor(plan_.value_of(node_), node_ + 1);
    if (low) {
      auto pairs = std::make_unique<Bf16ProductInstruction>(*w, *low);
      pairs->to_floats = to_floats;
      step = std::move(pairs);
      why = low->reason;
    } else {
      auto floats = std::make_unique<Float32ProductInstruction>(*w);
      if (floats->sparse) why = fmt::format("sparse weight times {}", factor);
      if (is_low())
        why = fmt::format("in float32, no product in bfloat16 for {}: {}", w->layout(), why);
      step = std::move(floats);
    }
    if (bias) step->bias = *bias;
    step->x = x;
    read(x);
    step->y = add_value(plan_.value_of(node_), shape[0], !to_floats);
    const auto stored = static_cast<double>(w->values() ? w->values()->size() : 0);
    ExecutionStep s = about(n, std::move(why), shape[0] + shape[1], interleaved);
    s.layout = w->spec().str();
    s.flops = 2 * tokens() * stored;
    s.bytes += static_cast<double>(w->bytes());
    const std::size_t y = step->y;
    write(std::move(step), y, std::move(s));
    has_product_ = true;
    return true;
  }

  bool take_add(const Node& n) {
    if (plan_.graph.arguments(node_).size() != 2 || !n.attributes.all().empty()) return false;
    const auto shape = shape_of(argument(0));
    if (!shape || shape != shape_of(argument(1))) return false;
    const Index features = shape->back();
    if (fuse_add(n, argument(0), argument(1), *shape)) return true;
    auto step = std::make_unique<AddInstruction>();
    step->a = value(argument(0), *shape, false);
    step->b = value(argument(1), *shape, false);
    read(step->a);
    read(step->b);
    step->features = features;
    const std::size_t y = step->y = add_value(plan_.value_of(node_), features, false);
    write(std::move(step), y, about(n, "element for element", 3 * features, false));
    return true;
  }
  // Fuses a sum into the product that computes one operand, if the other operand is computed
  // before. Sums are float32, so that rounding errors of layers do not add up.
  bool fuse_add(const Node& n, std::size_t first, std::size_t second, const Shape& shape) {
    for (const auto& [number, residual] : {std::pair(first, second), std::pair(second, first)}) {
      const auto sum = produced_here(number);
      std::size_t at = 0;
      ProductInstruction* p = sum && number != residual ? open_product(*sum, at) : nullptr;
      if (!p || p->residual) continue;
      const std::size_t other = value(residual, shape, false);
      if (chain_->values[other].first > at ||
          (chain_->values[other].first == at && !is_input_[other]))
        continue;
      p->residual = other;
      if (auto* pairs = dynamic_cast<Bf16ProductInstruction*>(p)) pairs->to_floats = true;
      chain_->values[*sum].interleaved = false;
      chain_->values[other].last = std::max(chain_->values[other].last, at);
      chain_->steps[at].bytes += bytes(shape.back(), false);
      fuse_into(n, at, *sum);
      return true;
    }
    return false;
  }

  bool take_norm(const Node& n) {
    if (plan_.graph.arguments(node_).size() != 3) return false;
    for (const auto& [name, v] : n.attributes.all())
      if (name != "eps") return false;
    const double eps = n.attributes.number("eps", 1e-5);
    const auto shape = shape_of(argument(0));
    if (!shape || !(eps >= 0)) return false;
    const Index features = shape->back();
    const Tensor *gamma = row(1, features), *beta = row(2, features);
    if (!gamma || !beta) return false;
    const std::size_t x = value(argument(0), *shape, is_norm_interleaved());
    const bool is_read_rounded = is_interleaved(x), is_rounded = is_norm_rounded(x);
    read(x);
    const std::size_t y = result_of(x, features, is_rounded);
    const auto with = [&](auto step) -> std::unique_ptr<TokenInstruction> {
      step->eps = static_cast<float>(eps);
      step->x = x;
      step->y = y;
      step->features = features;
      return step;
    };
    auto step = is_read_rounded ? with(std::make_unique<Bf16NormalizeInstruction>(*gamma, *beta))
                : is_rounded    ? with(std::make_unique<RoundedNormalizeInstruction>(*gamma, *beta))
                                : with(std::make_unique<NormalizeInstruction>(*gamma, *beta));
    write(std::move(step), y,
          about(n, "over the features of each panel", 2 * features, is_rounded));
    return true;
  }

  bool take_map(const Node& n) {
    if (plan_.graph.arguments(node_).size() != 1) return false;
    FloatMap f = float_map(n.op.text(), n.attributes);
    const auto shape = f ? shape_of(argument(0)) : std::nullopt;
    if (!shape) return false;
    std::size_t at = 0;
    const kernels::Activation activation = activation_of(n.op.text());
    if (const auto made = produced_here(argument(0));
        made && activation != kernels::Activation::none)
      if (ProductInstruction* p = open_product(*made, at); p && is_interleaved(*made) <= is_low()) {
        p->activation = activation;
        fuse_into(n, at, *made);
        return true;
      }
    const Index features = shape->back();
    const std::size_t x = value(argument(0), *shape, is_low());
    read(x);
    const std::size_t y = in_place_of(x, features);
    const auto with = [&](auto step) -> std::unique_ptr<TokenInstruction> {
      step->f = std::move(f);
      step->x = x;
      step->y = y;
      step->features = features;
      return step;
    };
    auto step = is_low() ? with(std::make_unique<Bf16MapInstruction>())
                         : with(std::make_unique<MapInstruction>());
    write(std::move(step), y, about(n, "element for element", 2 * features, is_low()));
    return true;
  }

  bool has_product_ = false;
};

}  // namespace

std::unique_ptr<FusedOperator> fused_chain(const PlanContext& plan, std::size_t node, Slots& slots,
                                           std::size_t& count) {
  TokenChainBuilder chain(plan, slots);
  std::size_t end = node + chain.take_embeddings(node);
  // The builder searches all values of the chain for each node.
  constexpr std::size_t most_nodes = 1024, most_before_product = 64;
  const auto is_full = [&] {
    return end - node >= (chain.has_product() ? most_nodes : most_before_product);
  };
  while (end < plan.graph.nodes().size() && !is_full() && chain.take(end)) ++end;
  count = end - node;
  if (!chain.has_product()) return nullptr;
  return chain.lower(end);
}

}  // namespace sten::execution
