#include "libsten/training/trainer/value_shapes.h"

#include <algorithm>

namespace sten {

ValueShapes::ValueShapes(const Graph& g, const NamedValues<Tensor>& inputs, bool guesses) {
  for (const auto& [name, x] : inputs)
    refs_[name] = builder_.add_input(name, x.dtype(), known(x.shape()));
  for (const Weight& w : g.weights()) refs_[w.name] = builder_.add_weight(w);
  for (const Constant& c : g.constants()) refs_[c.name] = builder_.add_constant(c.value, c.name);
  for (const Node& n : g.nodes()) add(n, guesses);
}

std::optional<Shape> ValueShapes::shape(std::string_view name) const {
  return shape_of(refs_.find(name)->second);
}

DType ValueShapes::dtype(std::string_view name) const {
  return builder_[refs_.find(name)->second].dtype.value_or(DType::F32);
}

std::optional<Shape> ValueShapes::shape_of(ValueRef r) const {
  Shape s;
  const BuilderValue& v = builder_[r];
  return v.shape && all_known(*v.shape, s) ? std::optional(s) : std::nullopt;
}

void ValueShapes::add(const Node& n, bool guesses) {
  std::vector<ValueRef> in;
  for (const std::string& name : n.inputs) in.push_back(refs_.at(name));
  ValueRef& to = refs_[n.name];
  try {
    to = builder_.add(n.op, in, n.attributes, n.name);
  } catch (const Error& e) {
    if (!guesses) throw Error(e.fault(), fmt::format("node {}: {}", quote(n.name), e.what()));
    to = builder_.add_input(n.name, {}, {});
  }
  if (!guesses || shape_of(to)) return;
  const auto size = [&](ValueRef r) { return size_of(*shape_of(r)); };
  builder_[to].shape =
      in.empty() ? known(Shape{}) : builder_[*std::ranges::max_element(in, {}, size)].shape;
}

}  // namespace sten
