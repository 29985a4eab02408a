// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/chain_builder_base.h"

#include <algorithm>

#include "libsten/model/execution/bf16_instructions.h"

namespace sten::execution {
namespace {

// Results larger than the L2 cache bypass the caches, since other values are needed first.
constexpr double least_streamed = double{1 << 20};

const char* layout_of(bool interleaved) { return interleaved ? "interleaved" : "panels"; }
Precision precision_of(bool interleaved) {
  return interleaved ? Precision::bf16 : Precision::float32;
}

}  // namespace

std::unique_ptr<FusedChain> ChainBuilder::lower(std::size_t end) {
  const std::size_t count = chain_->values.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t number = chain_->values[i].number;
    if (is_input_[i] || chain_->values[i].is_copy) continue;
    const bool panels = plan_.wants_panels(number, end);
    const bool tensor = plan_.wants_tensor(number, end);
    if (!panels && !tensor) continue;
    const bool rounds = !is_interleaved(i) && plan_.wants_interleaved(number, end);
    const std::size_t left = rounds ? copy(i) : i;  // the value after the chain
    const ChainValue v = chain_->values[left];
    Shape shape = chain_->tokens_shape;
    shape.push_back(v.features);
    chain_->outcomes.push_back({number, shape, panels, tensor, v.interleaved});
    chain_->values[left].is_local = !panels;
    if (panels && !rounds && v.last == v.first &&
        bytes(v.features, v.interleaved) >= least_streamed)
      if (auto* p = dynamic_cast<ProductInstruction*>(chain_->work[v.first].get()))
        p->stream = true;
    if (tensor) store(i, shape);
  }
  chain_->lower();
  return std::move(chain_);
}

std::optional<Shape> ChainBuilder::shape_of(std::size_t number) const {
  const auto in_chain = [&](const ChainValue& v) { return v.number == number; };
  const auto at = std::ranges::find_if(chain_->values, in_chain);
  if (at != chain_->values.end()) {
    Shape shape = chain_->tokens_shape;
    shape.push_back(at->features);
    return shape;
  }
  const Value& v = slots_[number];
  const bool in_panels = v.is_in_panels();
  if (plan_.is_weight(number) || (!in_panels && !(v.tensor && is_floats(*v.tensor)))) return {};
  const Shape shape = in_panels ? v.shape : v.tensor->shape();
  if (shape.size() < 2 || shape.back() == 0) return {};
  if (chain_->values.empty() && !fits_panels(tokens_of(shape), is_low())) return {};
  const Shape tokens(shape.begin(), shape.end() - 1);
  if (!chain_->values.empty() && tokens != chain_->tokens_shape) return {};
  return shape;
}

const Tensor* ChainBuilder::integers(std::size_t i) const {
  const std::optional<Tensor>& t = slots_[argument(i)].tensor;
  const bool is_taken = t && t->is<Dense>() && t->device() == Device::cpu &&
                        (t->dtype() == DType::I64 || t->dtype() == DType::I32);
  return is_taken ? &*t : nullptr;
}

std::size_t ChainBuilder::value(std::size_t number, const Shape& shape, bool interleaved) {
  std::optional<std::size_t> other;
  for (std::size_t i = 0; i < chain_->values.size(); ++i) {
    if (chain_->values[i].number != number) continue;
    if (chain_->values[i].interleaved == interleaved) return i;
    other = i;
  }
  if (!other) other = input(number, shape, interleaved);
  return chain_->values[*other].interleaved == interleaved ? *other : copy(*other);
}

// Adds a value from before the chain.
std::size_t ChainBuilder::input(std::size_t number, const Shape& shape, bool interleaved) {
  chain_->tokens_shape.assign(shape.begin(), shape.end() - 1);
  const Index features = shape.back();
  const Value& given = slots_[number];
  const std::size_t at = add_value(
      number, features, given.is_in_panels() ? given.interleaved != nullptr : interleaved);
  is_input_[at] = true;
  chain_->values[at].is_local = !given.is_in_panels();
  if (given.is_in_panels()) {
    chain_->values[at].first = 0;  // available from the start
    return at;
  }
  auto step = std::make_unique<LoadInstruction>();
  step->y = at;
  step->features = features;
  step->interleaved = interleaved;
  chain_->rows.push_back({number, step.get(), nullptr, shape});
  ExecutionStep s{{}, "load", layout_of(interleaved), "", 0, 0, bytes(features, false)};
  s.why = interleaved ? "tokens to interleaved panels" : "tokens to panels";
  s.bytes += bytes(features, interleaved);
  s.precision = precision_of(interleaved);
  write(std::move(step), at, std::move(s));
  return at;
}

// Adds a copy in the other precision.
std::size_t ChainBuilder::copy(std::size_t from) {
  const Index features = chain_->values[from].features;
  const bool interleaved = !chain_->values[from].interleaved;
  const std::size_t to = add_value(chain_->values[from].number, features, interleaved);
  chain_->values[to].is_copy = true;
  const auto with = [&](auto step) -> std::unique_ptr<TokenInstruction> {
    step->x = from;
    step->y = to;
    step->features = features;
    return step;
  };
  ExecutionStep s{{}, "", layout_of(interleaved), "", 0, 0, bytes(features, true)};
  s.runs = interleaved ? "round" : "widen";
  s.why = interleaved ? "float32 to interleaved bfloat16" : "interleaved bfloat16 to float32";
  s.bytes += bytes(features, false);
  s.precision = precision_of(interleaved);
  read(from);
  write(interleaved ? with(std::make_unique<RoundInstruction>())
                    : with(std::make_unique<WidenInstruction>()),
        to, std::move(s));
  return to;
}

std::size_t ChainBuilder::add_value(std::size_t number, Index features, bool interleaved) {
  const std::size_t now = chain_->work.size();
  chain_->values.push_back({number, features, now, now, interleaved});
  is_input_.push_back(false);
  writers_.push_back(now);
  return chain_->values.size() - 1;
}

double ChainBuilder::tokens() const {
  double n = 1;
  for (const Index extent : chain_->tokens_shape) n *= static_cast<double>(extent);
  return n;
}

void ChainBuilder::write(std::unique_ptr<TokenInstruction> step, std::size_t y,
                         ExecutionStep about) {
  chain_->values[y].last = writers_[y] = chain_->work.size();
  if (!about.nodes.empty()) {
    about.shape = chain_->tokens_shape;
    about.shape.push_back(chain_->values[y].features);
  }
  chain_->work.push_back(std::move(step));
  chain_->steps.push_back(std::move(about));
}

bool ChainBuilder::has_floats(std::size_t number) const {
  bool is_here = false;
  for (const ChainValue& v : chain_->values) {
    if (v.number != number) continue;
    if (!v.interleaved) return true;
    is_here = true;
  }
  return !is_here && !slots_[number].interleaved;
}

bool ChainBuilder::is_norm_rounded(std::size_t x) const {
  const std::size_t y = plan_.value_of(node_);
  return is_low() && (is_interleaved(x) ||
                      !(plan_.is_summed(y, node_ + 1) || plan_.wants_tensor(y, node_ + 1)));
}

std::size_t ChainBuilder::result_of(std::size_t x, Index features, bool interleaved) {
  const std::size_t number = plan_.value_of(node_);
  if (is_input_[x] || !is_used_once(chain_->values[x].number) || interleaved != is_interleaved(x))
    return add_value(number, features, interleaved);
  chain_->values[x].number = number;
  chain_->values[x].is_copy = false;
  return x;
}

ExecutionStep ChainBuilder::about(const Node& n, std::string why, Index moved,
                                  bool interleaved) const {
  ExecutionStep s{{n.name}, std::string(n.op.text()), layout_of(interleaved), std::move(why), 0, 0,
                  0};
  s.bytes = bytes(moved, interleaved);
  s.precision = precision_of(interleaved);
  return s;
}

std::optional<std::size_t> ChainBuilder::produced_here(std::size_t number) const {
  for (std::size_t i = 0; i < chain_->values.size(); ++i)
    if (chain_->values[i].number == number && !is_input_[i] && !chain_->values[i].is_copy) return i;
  return {};
}

ProductInstruction* ChainBuilder::open_product(std::size_t v, std::size_t& at) const {
  at = writers_[v];
  if (is_input_[v] || !is_used_once(chain_->values[v].number)) return nullptr;
  auto* p = dynamic_cast<ProductInstruction*>(chain_->work[at].get());
  return p && p->activation == kernels::Activation::none ? p : nullptr;
}

void ChainBuilder::fuse_into(const Node& n, std::size_t at, std::size_t v) {
  ExecutionStep& s = chain_->steps[at];
  s.nodes.push_back(n.name);
  s.runs += " + " + std::string(n.op.text());
  chain_->values[v].number = plan_.value_of(node_);
}

void ChainBuilder::store(std::size_t i, const Shape& shape) {
  auto step = std::make_unique<StoreInstruction>();
  const Index features = chain_->values[i].features;
  const bool interleaved = is_interleaved(i);
  step->x = i;
  step->features = features;
  step->interleaved = interleaved;
  chain_->rows.push_back({chain_->values[i].number, nullptr, step.get(), shape});
  ExecutionStep s{{}, "store", layout_of(interleaved), "", 0, 0, bytes(features, false)};
  s.why = interleaved ? "interleaved to tokens" : "panels to tokens";
  s.bytes += bytes(features, interleaved);
  s.precision = precision_of(interleaved);
  write(std::move(step), i, std::move(s));
}

}  // namespace sten::execution
