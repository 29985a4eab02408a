#include "libsten/graph/execution/chain_draft.h"

#include <algorithm>

namespace sten::execution {
namespace {

// What is written past the caches, since other values are needed first: more than the second one
// holds.
constexpr double least_streamed = double{1 << 20};

}  // namespace

std::unique_ptr<ChainUnit> ChainDraft::finish(std::size_t end) {
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
    if (panels && v.last == v.first && bytes(v.features) >= least_streamed)
      if (auto* p = dynamic_cast<ProductStep*>(unit_->work[v.first].get())) p->stream = true;
    if (tensor) store(i, shape);
  }
  unit_->finish();
  return std::move(unit_);
}

std::optional<Shape> ChainDraft::shape_of(std::size_t number) const {
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
  if (shape.size() < 2 || shape.back() == 0 || !fill_panels(tokens_of(shape))) return {};
  const Shape tokens(shape.begin(), shape.end() - 1);
  if (!unit_->values.empty() && tokens != unit_->tokens_shape) return {};
  return shape;
}

std::size_t ChainDraft::value(std::size_t number, const Shape& shape) {
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

std::size_t ChainDraft::add_value(std::size_t number, Index features) {
  const std::size_t now = unit_->work.size();
  unit_->values.push_back({number, features, now, now});
  is_input_.push_back(false);
  writers_.push_back(now);
  return unit_->values.size() - 1;
}

double ChainDraft::tokens() const {
  double n = 1;
  for (const Index extent : unit_->tokens_shape) n *= static_cast<double>(extent);
  return n;
}

void ChainDraft::write(std::unique_ptr<TokenStep> step, std::size_t y, ExecutionStep about) {
  unit_->values[y].last = writers_[y] = unit_->work.size();
  if (!about.nodes.empty()) {
    about.shape = unit_->tokens_shape;
    about.shape.push_back(unit_->values[y].features);
  }
  unit_->work.push_back(std::move(step));
  unit_->steps.push_back(std::move(about));
}

std::size_t ChainDraft::in_place_of(std::size_t x, Index features) {
  const std::size_t number = plan_.value_of(node_);
  if (is_input_[x] || !is_used_once(unit_->values[x].number)) return add_value(number, features);
  unit_->values[x].number = number;
  return x;
}

ExecutionStep ChainDraft::about(const Node& n, std::string why, Index moved) const {
  return {{n.name}, std::string(n.op.text()), "panels", std::move(why), 0, 0, bytes(moved)};
}

ProductStep* ChainDraft::open_product(std::size_t v, std::size_t& at) const {
  at = writers_[v];
  if (is_input_[v] || !is_used_once(unit_->values[v].number)) return nullptr;
  auto* p = dynamic_cast<ProductStep*>(unit_->work[at].get());
  return p && p->activation == kernels::Activation::none ? p : nullptr;
}

void ChainDraft::join(const Node& n, std::size_t at, std::size_t v) {
  ExecutionStep& s = unit_->steps[at];
  s.nodes.push_back(n.name);
  s.runs += " + " + std::string(n.op.text());
  unit_->values[v].number = plan_.value_of(node_);
}

void ChainDraft::store(std::size_t i, const Shape& shape) {
  auto step = std::make_unique<StoreStep>();
  const Index features = unit_->values[i].features;
  step->x = i;
  step->features = features;
  unit_->rows.push_back({unit_->values[i].number, nullptr, step.get(), shape});
  write(std::move(step), i,
        {{}, "store", "panels", "panels become rows of tokens", 0, 0, bytes(2 * features)});
}

}  // namespace sten::execution
