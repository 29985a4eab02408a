// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/fusion/graph_builder.h"

#include <algorithm>

#include "libsten/core/base/error.h"

namespace sten {
namespace {

// Limit of constants computed at import, in elements; larger ones are computed by the graph.
constexpr Index most_folded = Index{1} << 22;

std::optional<ExtentList> integers_in(const Dense& x) {
  if (x.extents.size() > 1 || x.size() > most_known_elements) return {};
  ExtentList all;
  for (Index i = 0; i < x.size(); ++i) {
    if (x.dtype() == DType::I64)
      all.push_back(known(x.values.as<std::int64_t>()[i]));
    else if (x.dtype() == DType::I32)
      all.push_back(known(x.values.as<std::int32_t>()[i]));
    else if (x.dtype() == DType::BOOL)
      all.push_back(known(x.values.as<std::uint8_t>()[i] != 0));
    else
      return {};
  }
  return all;
}

std::optional<Dense> constant_of(const BuilderValue& v) {
  Shape shape, elements;
  if (!v.elements || !v.dtype || !v.shape || !all_known(*v.shape, shape) ||
      !all_known(*v.elements, elements))
    return {};
  Dense x = Dense::zeros(*v.dtype, shape);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (*v.dtype == DType::I64)
      x.values.mutate<std::int64_t>()[i] = elements[i];
    else if (*v.dtype == DType::I32)
      x.values.mutate<std::int32_t>()[i] = static_cast<std::int32_t>(elements[i]);
    else if (*v.dtype == DType::BOOL)
      x.values.mutate<std::uint8_t>()[i] = elements[i] != 0;
    else
      return {};
  }
  return x;
}

}  // namespace

Attributes::List axes_to_last(std::size_t rank) {
  Attributes::List axes{0};
  for (std::size_t d = 2; d < rank; ++d) axes.push_back(static_cast<Index>(d));
  axes.push_back(1);
  return axes;
}
Attributes::List axes_to_first(std::size_t rank) {
  Attributes::List axes{0, static_cast<Index>(rank) - 1};
  for (std::size_t d = 1; d + 1 < rank; ++d) axes.push_back(static_cast<Index>(d));
  return axes;
}

ValueRef GraphBuilder::add_value(BuilderValue v) {
  values_.push_back(std::move(v));
  return values_.size() - 1;
}

ValueRef GraphBuilder::add_input(std::string name, std::optional<DType> dtype,
                                 std::optional<ExtentList> shape) {
  return add_value({.name = std::move(name), .dtype = dtype, .shape = std::move(shape)});
}

ValueRef GraphBuilder::add_input(const GraphPort& port) {
  std::optional<ExtentList> shape;
  if (port.shape) {
    shape.emplace();
    for (const GraphPort::Extent& e : *port.shape)
      shape->push_back(e.size             ? known(*e.size)
                       : e.symbol.empty() ? extents.fresh()
                                          : extents.named(e.symbol));
  }
  return add_input(port.name, port.dtype, std::move(shape));
}

ValueRef GraphBuilder::add_weight(Weight weight) {
  BuilderValue v{.name = weight.name, .dtype = DType::F32, .shape = known(weight.shape)};
  v.weight = std::move(weight);
  return add_value(std::move(v));
}

ValueRef GraphBuilder::add_constant(Dense value, std::string name) {
  BuilderValue v{.name = std::move(name), .dtype = value.dtype(), .shape = known(value.extents)};
  v.elements = integers_in(value);
  v.constant = std::move(value);
  return add_value(std::move(v));
}

ValueRef GraphBuilder::add_integers(const std::vector<Index>& list) {
  Dense x = Dense::zeros(DType::I64, {std::ssize(list)});
  std::ranges::copy(list, x.values.mutate<std::int64_t>().begin());
  return add_constant(std::move(x));
}

ValueRef GraphBuilder::add_leaf(BuilderValue v) { return add_value(std::move(v)); }

ValueRef GraphBuilder::add_scalar(float x) { return add_constant(Dense::of({}, {x})); }

ValueRef GraphBuilder::add(Name op, std::vector<ValueRef> in, Attributes attributes,
                           std::string name, Formats formats) {
  BuilderNode node{std::move(name),       op, std::move(in),
                   std::move(attributes), 0,  std::move(formats)};
  const auto is_fixed = [&](ValueRef r) { return values_[r].is_fixed || values_[r].constant; };
  BuilderValue v = infer(*this, node);
  for (const Extent& e : v.shape.value_or(ExtentList{}))
    if (e.is_known() && e.number < 0)
      fail("result has the extent {}: expected extents >= 0", e.number);
  // The same value: the operator only asserts its shape.
  const bool is_noop = node.is("reshape") || node.is("expand");
  if (is_noop && v.shape && v.shape == values_[node.in[0]].shape) return node.in[0];
  v.is_fixed = op == Name("shape") || op == Name("size") || std::ranges::all_of(node.in, is_fixed);
  if (v.is_fixed) budget_.spend(*this, node, v);
  const bool folds = !node.has_formats();
  if (folds && !v.constant) v.constant = constant_of(v);
  const auto is_constant = [&](ValueRef r) { return values_[r].constant.has_value(); };
  Shape shape;
  // The work of image windows is not proportional to their inputs and results.
  if (folds && !v.constant && !is_image_operator(op.text()) && v.shape &&
      all_known(*v.shape, shape) && std::ranges::all_of(node.in, is_constant) &&
      checked_size(shape) <= most_folded) {
    std::vector<Tensor> in_values;
    for (const ValueRef r : node.in) in_values.emplace_back(*values_[r].constant);
    v.constant = apply(op, in_values, node.attributes).to_dense();
    v.dtype = v.constant->dtype();
    v.shape = known(v.constant->extents);
  }
  if (v.constant) {
    if (!v.elements) v.elements = integers_in(*v.constant);
    return add_value(std::move(v));
  }
  node.out = values_.size();
  v.node = nodes_.size();
  nodes_.push_back(std::move(node));
  return add_value(std::move(v));
}

void GraphBuilder::add_output(const std::string& name, ValueRef v) {
  const bool is_taken = taken_by_outputs_.contains(v);
  if (values_[v].constant) {
    if (is_taken || !values_[v].name.empty()) v = add_constant(*values_[v].constant);
    values_[v].name = name;
  } else if (is_taken || !values_[v].node || nodes_[*values_[v].node].name != name) {
    v = add("identity", {v}, {}, name);
  }
  taken_by_outputs_.insert(v);
  outputs_.push_back({name, v});
}

const BuilderNode* GraphBuilder::node_of(ValueRef v) const {
  return values_[v].node ? &nodes_[*values_[v].node] : nullptr;
}
const BuilderNode* GraphBuilder::node_of(ValueRef v, std::string_view op) const {
  const BuilderNode* s = node_of(v);
  return s && s->is(op) ? s : nullptr;
}

std::vector<Index> GraphBuilder::uses() const {
  std::vector<Index> uses(size());
  std::vector<ValueRef> open;
  const auto use = [&](ValueRef v) {
    if (uses[v]++ == 0) open.push_back(v);
  };
  for (const Output& o : outputs_) use(o.value);
  for (const ValueRef v : kept_) use(v);
  while (!open.empty()) {
    const BuilderNode* s = node_of(open.back());
    open.pop_back();
    if (s) std::ranges::for_each(s->in, use);
  }
  return uses;
}

}  // namespace sten
