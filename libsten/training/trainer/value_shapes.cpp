// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/value_shapes.h"

#include <algorithm>

namespace sten {

ValueShapes::ValueShapes(const Graph& g, const NamedValues<Tensor>& inputs, bool guesses) {
  for (const std::string& name : g.inputs()) {
    const Tensor& x = inputs.at(name);
    refs_.push_back(builder_.add_input(name, x.dtype(), known(x.shape())));
  }
  for (const Weight& w : g.weights()) refs_.push_back(builder_.add_weight(w));
  for (const Constant& c : g.constants()) refs_.push_back(builder_.add_constant(c.value, c.name));
  for (std::size_t i = 0; i < g.nodes().size(); ++i) add(g.nodes()[i], g.arguments(i), guesses);
}

std::optional<Shape> ValueShapes::shape(std::size_t value) const {
  Shape s;
  const BuilderValue& v = builder_[refs_[value]];
  return v.shape && all_known(*v.shape, s) ? std::optional(s) : std::nullopt;
}

DType ValueShapes::dtype(std::size_t value) const {
  return builder_[refs_[value]].dtype.value_or(DType::F32);
}

void ValueShapes::add(const Node& n, const std::vector<std::size_t>& arguments, bool guesses) {
  std::vector<ValueRef> in;
  for (const std::size_t value : arguments) in.push_back(refs_[value]);
  ValueRef& to = refs_.emplace_back();
  try {
    to = builder_.add(n.op, in, n.attributes, n.name);
  } catch (const Error& e) {
    if (!guesses) throw Error(e.fault(), fmt::format("node {}: {}", quote(n.name), e.what()));
    to = builder_.add_input(n.name, {}, {});
  }
  if (!guesses || shape(refs_.size() - 1)) return;
  const auto size = [&](std::size_t value) { return size_of(*shape(value)); };
  builder_[to].shape = arguments.empty()
                           ? known(Shape{})
                           : known(*shape(*std::ranges::max_element(arguments, {}, size)));
}

}  // namespace sten
