#include "libsten/train/value_shapes.h"

#include <algorithm>

namespace sten {

ValueShapes::ValueShapes(const Graph& g, const NamedValues<Tensor>& inputs, bool guesses) {
  for (const auto& [name, x] : inputs)
    refs_[name] = draft_.add_input(name, x.dtype(), known(x.shape()));
  for (const Weight& w : g.weights()) refs_[w.name] = draft_.add_weight(w.name, w.shape);
  for (const Constant& c : g.constants()) refs_[c.name] = draft_.add_constant(c.value, c.name);
  for (const Node& n : g.nodes()) add(n, guesses);
}

std::optional<Shape> ValueShapes::shape(std::string_view name) const {
  return shape_of(refs_.find(name)->second);
}

DType ValueShapes::dtype(std::string_view name) const {
  return draft_[refs_.find(name)->second].dtype.value_or(DType::F32);
}

std::optional<Shape> ValueShapes::shape_of(DraftRef r) const {
  Shape s;
  const DraftValue& v = draft_[r];
  return v.shape && all_known(*v.shape, s) ? std::optional(s) : std::nullopt;
}

void ValueShapes::add(const Node& n, bool guesses) {
  std::vector<DraftRef> in;
  for (const std::string& name : n.inputs) in.push_back(refs_.at(name));
  DraftRef& to = refs_[n.name];
  try {
    to = draft_.add(n.op, in, n.attributes, n.name);
  } catch (const Error& e) {
    if (!guesses) throw Error(e.fault(), fmt::format("node {}: {}", quote(n.name), e.what()));
    to = draft_.add_input(n.name, {}, {});
  }
  if (!guesses || shape_of(to)) return;
  const auto size = [&](DraftRef r) { return size_of(*shape_of(r)); };
  draft_[to].shape =
      in.empty() ? known(Shape{}) : draft_[*std::ranges::max_element(in, {}, size)].shape;
}

}  // namespace sten
