#include <algorithm>

#include "libsten/graph/execution/chain.h"
#include "libsten/graph/execution/embeddings.h"
#include "libsten/layout/masked.h"

namespace sten::execution {
namespace {

bool is_floats(const Tensor& t) {
  return t.is<Dense>() && t.dtype() == DType::F32 && t.device() == Device::cpu;
}

// From one index of each of the tokens' extents to the next, in ids that are repeated to these.
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

class Builder {
 public:
  Builder(const PlanContext& plan, const Slots& slots) : plan_(plan), slots_(slots) {}

  // How many nodes from there on are a sum of embeddings, with which the chain begins.
  std::size_t take_embeddings(std::size_t node) {
    const auto sum = match_embeddings(plan_, node, slots_);
    if (!sum || tokens_of(sum->shape) < least_tokens) return 0;
    node_ = node;
    auto step = std::make_unique<EmbedStep>();
    step->extents = unit_->tokens_shape = {sum->shape.begin(), sum->shape.end() - 1};
    step->features = sum->shape.back();
    step->y = add_value(sum->value, sum->shape.back());
    ExecutionStep about{{}, "", "panels", "rows are added up and become panels", 0, 0, 0};
    for (std::size_t i = 0; i < sum->nodes; ++i) {
      const Node& n = plan_.graph.nodes()[node + i];
      about.nodes.push_back(n.name);
      about.runs += (i == 0 ? "" : " + ") + std::string(n.op.text());
    }
    about.bytes = bytes(step->features * (std::ssize(sum->tables) + 1));
    for (const auto& [weight, ids] : sum->tables) {
      const Dense& from = slots_[ids].tensor->as<Dense>();
      unit_->rows.push_back({ids, nullptr, nullptr, from.extents, step.get(), step->tables.size()});
      step->tables.push_back({*slots_[weight].tensor, steps_in(from.extents, step->extents),
                              from.dtype() == DType::I64});
    }
    const std::size_t y = step->y;
    write(std::move(step), y, std::move(about));
    return sum->nodes;
  }

  // Whether the node can be part of the chain, of which it is one then.
  bool take(std::size_t node) {
    const Node& n = plan_.graph.nodes()[node];
    node_ = node;
    if (!n.formats.out.is_dense()) return false;
    const std::string_view op = n.op.text();
    if (op == "linear") return take_linear(n);
    if (op == "add") return take_add(n);
    if (op == "layer-norm") return take_norm(n);
    return map_of(op) && take_map(n);
  }

  bool has_product() const { return has_product_; }

  std::unique_ptr<ChainUnit> finish(std::size_t end) {
    for (std::size_t i = 0; i < unit_->values.size(); ++i) {
      ChainValue& v = unit_->values[i];
      if (is_input_[i]) continue;
      const bool panels = plan_.wants_panels(v.number, end);
      const bool tensor = plan_.wants_tensor(v.number, end);
      if (!panels && !tensor) continue;
      Shape shape = unit_->tokens_shape;
      shape.push_back(v.features);
      unit_->outcomes.push_back({v.number, shape, panels, tensor});
      v.is_local = !panels;
      if (panels && v.last == v.first)
        if (auto* p = dynamic_cast<ProductStep*>(unit_->work[v.first].get())) p->stream = true;
      if (tensor) store(i, shape);
    }
    unit_->finish();
    return std::move(unit_);
  }

 private:
  std::size_t argument(std::size_t i) const { return plan_.arguments[node_][i]; }
  bool is_used_once(std::size_t value) const { return plan_.uses[value] == 1; }
  const Tensor* weight(std::size_t i) const {
    return plan_.is_weight(argument(i)) ? &*slots_[argument(i)].tensor : nullptr;
  }
  // A weight [features], dense.
  const Tensor* row(std::size_t i, Index features) const {
    const Tensor* w = weight(i);
    return w && is_floats(*w) && w->shape() == Shape{features} ? w : nullptr;
  }

  // Of a value that the chain has or can have; nothing for others.
  std::optional<Shape> shape_of(std::size_t number) const {
    const auto in_chain = [&](const ChainValue& v) { return v.number == number; };
    const auto at = std::ranges::find_if(unit_->values, in_chain);
    if (at != unit_->values.end()) {
      Shape shape = unit_->tokens_shape;
      shape.push_back(at->features);
      return shape;
    }
    const Value& v = slots_[number];
    if (plan_.is_weight(number) || (!v.panels && !(v.tensor && is_floats(*v.tensor)))) return {};
    const Shape shape = v.panels ? v.shape : v.tensor->shape();
    if (shape.size() < 2 || shape.back() == 0 || tokens_of(shape) < least_tokens) return {};
    const Shape tokens(shape.begin(), shape.end() - 1);
    if (!unit_->values.empty() && tokens != unit_->tokens_shape) return {};
    return shape;
  }
  // The chain's number of such a value; a tensor is loaded.
  std::size_t value(std::size_t number, const Shape& shape) {
    for (std::size_t i = 0; i < unit_->values.size(); ++i)
      if (unit_->values[i].number == number) return i;
    unit_->tokens_shape.assign(shape.begin(), shape.end() - 1);
    const Index features = shape.back();
    const std::size_t at = add_value(number, features);
    is_input_[at] = true;
    unit_->values[at].is_local = !slots_[number].panels;
    if (slots_[number].panels) unit_->values[at].first = 0;  // it is there from the beginning
    if (!slots_[number].panels) {
      auto step = std::make_unique<LoadStep>();
      step->y = at;
      step->features = features;
      unit_->rows.push_back({number, step.get(), nullptr, shape});
      write(std::move(step), at,
            {{}, "load", "panels", "rows of tokens become panels", 0, 0, bytes(2 * features)});
    }
    return at;
  }
  std::size_t add_value(std::size_t number, Index features) {
    const std::size_t now = unit_->work.size();
    unit_->values.push_back({number, features, now, now});
    is_input_.push_back(false);
    writers_.push_back(now);
    return unit_->values.size() - 1;
  }
  double tokens() const {
    double n = 1;
    for (const Index extent : unit_->tokens_shape) n *= static_cast<double>(extent);
    return n;
  }
  double bytes(Index features) const { return 4 * tokens() * static_cast<double>(features); }

  // A step that writes value y.
  void write(std::unique_ptr<TokenStep> step, std::size_t y, ExecutionStep about) {
    unit_->values[y].last = writers_[y] = unit_->work.size();
    unit_->work.push_back(std::move(step));
    unit_->steps.push_back(std::move(about));
  }
  void read(std::size_t value) { unit_->values[value].last = unit_->work.size(); }
  // The node's value in the place of x, which nobody else needs; or a new one.
  std::size_t in_place_of(std::size_t x, Index features) {
    const std::size_t number = plan_.value_of(node_);
    if (is_input_[x] || !is_used_once(unit_->values[x].number)) return add_value(number, features);
    unit_->values[x].number = number;
    return x;
  }
  ExecutionStep about(const Node& n, std::string why, Index moved) const {
    return {{n.name}, std::string(n.op.text()), "panels", std::move(why), 0, 0, bytes(moved)};
  }

  bool take_linear(const Node& n) {
    const std::vector<std::size_t>& in = plan_.arguments[node_];
    if (in.size() < 2 || !n.attributes.all().empty()) return false;
    const Tensor* w = weight(1);
    if (!w || w->dtype() != DType::F32 || w->device() != Device::cpu) return false;
    const Shape shape = w->shape();
    if (shape.size() != 2 || shape[0] == 0 || w->spec().has("dims")) return false;
    if (!has_dense_values(*w) && !has_sparse_product(std::string(w->layout()))) return false;
    const Tensor* bias = in.size() > 2 ? row(2, shape[0]) : nullptr;
    if (in.size() > 2 && !bias) return false;
    const auto from = shape_of(in[0]);
    if (!from || from->back() != shape[1]) return false;
    const std::size_t x = value(in[0], *from);
    auto step = std::make_unique<ProductStep>(*w);
    if (bias) step->bias = *bias;
    step->x = x;
    read(x);
    step->y = add_value(plan_.value_of(node_), shape[0]);
    const auto stored = static_cast<double>(w->values() ? w->values()->size() : 0);
    ExecutionStep s = about(n, "", shape[0] + shape[1]);
    s.layout = w->spec().str();
    s.why = step->sparse ? "sums in panels, finished in the first cache"
                         : "dense, by the kernel of panels: what comes before and after lies so";
    s.flops = 2 * tokens() * stored;
    s.bytes += static_cast<double>(w->bytes());
    const std::size_t y = step->y;
    write(std::move(step), y, std::move(s));
    has_product_ = true;
    return true;
  }

  // The product that made the value, step `at`, if nobody else needs that and nothing follows it.
  ProductStep* open_product(std::size_t v, std::size_t& at) const {
    at = writers_[v];
    if (is_input_[v] || !is_used_once(unit_->values[v].number)) return nullptr;
    auto* p = dynamic_cast<ProductStep*>(unit_->work[at].get());
    return p && p->activation == kernels::Activation::none ? p : nullptr;
  }
  void join(const Node& n, std::size_t at, std::size_t v) {
    ExecutionStep& s = unit_->steps[at];
    s.nodes.push_back(n.name);
    s.runs += " + " + std::string(n.op.text());
    unit_->values[v].number = plan_.value_of(node_);
  }

  bool take_add(const Node& n) {
    if (plan_.arguments[node_].size() != 2 || !n.attributes.all().empty()) return false;
    const auto shape = shape_of(argument(0));
    if (!shape || shape != shape_of(argument(1))) return false;
    const std::size_t a = value(argument(0), *shape), b = value(argument(1), *shape);
    const Index features = shape->back();
    // Into the product that makes one of them, if the other is there before.
    for (const auto& [sum, other] : {std::pair(a, b), std::pair(b, a)}) {
      std::size_t at = 0;
      ProductStep* p = sum == other ? nullptr : open_product(sum, at);
      if (!p || p->residual || unit_->values[other].first > at ||
          (unit_->values[other].first == at && !is_input_[other]))
        continue;
      p->residual = other;
      unit_->values[other].last = std::max(unit_->values[other].last, at);
      unit_->steps[at].bytes += bytes(features);
      join(n, at, sum);
      return true;
    }
    auto step = std::make_unique<AddStep>();
    step->a = a;
    step->b = b;
    step->features = features;
    read(a);
    read(b);
    const std::size_t y = step->y = add_value(plan_.value_of(node_), features);
    write(std::move(step), y, about(n, "element for element", 3 * features));
    return true;
  }

  bool take_norm(const Node& n) {
    if (plan_.arguments[node_].size() != 3) return false;
    for (const auto& [name, v] : n.attributes.all())
      if (name != "eps") return false;
    const double eps = n.attributes.number("eps", 1e-5);
    const auto shape = shape_of(argument(0));
    if (!shape || !(eps >= 0)) return false;
    const Index features = shape->back();
    const Tensor *gamma = row(1, features), *beta = row(2, features);
    if (!gamma || !beta) return false;
    const std::size_t x = value(argument(0), *shape);
    auto step = std::make_unique<NormalizeStep>(*gamma, *beta);
    step->eps = static_cast<float>(eps);
    step->x = x;
    step->features = features;
    read(x);
    const std::size_t y = step->y = in_place_of(x, features);
    write(std::move(step), y, about(n, "down the features of 64 tokens at once", 2 * features));
    return true;
  }

  bool take_map(const Node& n) {
    if (plan_.arguments[node_].size() != 1 || !n.attributes.all().empty()) return false;
    const auto shape = shape_of(argument(0));
    if (!shape) return false;
    const std::size_t x = value(argument(0), *shape);
    const std::string_view op = n.op.text();
    std::size_t at = 0;
    if (op == "gelu" || op == "relu")
      if (ProductStep* p = open_product(x, at)) {
        p->activation = op == "gelu" ? kernels::Activation::gelu : kernels::Activation::relu;
        join(n, at, x);
        return true;
      }
    const Index features = shape->back();
    auto step = std::make_unique<MapStep>();
    step->f = map_of(op);
    step->x = x;
    step->features = features;
    read(x);
    const std::size_t y = step->y = in_place_of(x, features);
    write(std::move(step), y, about(n, "element for element", 2 * features));
    return true;
  }

  void store(std::size_t i, const Shape& shape) {
    auto step = std::make_unique<StoreStep>();
    const Index features = unit_->values[i].features;
    step->x = i;
    step->features = features;
    unit_->rows.push_back({unit_->values[i].number, nullptr, step.get(), shape});
    write(std::move(step), i,
          {{}, "store", "panels", "panels become rows of tokens", 0, 0, bytes(2 * features)});
  }

  const PlanContext& plan_;
  const Slots& slots_;
  std::unique_ptr<ChainUnit> unit_ = std::make_unique<ChainUnit>();
  std::vector<bool> is_input_;        // of the chain's values
  std::vector<std::size_t> writers_;  // the last step that writes each
  std::size_t node_ = 0;
  bool has_product_ = false;
};

}  // namespace

std::unique_ptr<Unit> chain_unit(const PlanContext& plan, std::size_t node, Slots& slots,
                                 std::size_t& count) {
  Builder chain(plan, slots);
  std::size_t end = node + chain.take_embeddings(node);
  while (end < plan.graph.nodes().size() && chain.take(end)) ++end;
  count = end - node;
  if (!chain.has_product()) return nullptr;
  return chain.finish(end);
}

}  // namespace sten::execution
