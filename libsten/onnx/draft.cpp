#include "libsten/onnx/draft.h"

#include <algorithm>

#include "libsten/base/error.h"
#include "libsten/base/text.h"

namespace sten {
namespace {

// Elements of constants that are computed at import; larger ones are computed when the model runs.
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

std::optional<Dense> constant_of(const DraftValue& v) {
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

DraftRef Draft::add_value(DraftValue v) {
  values_.push_back(std::move(v));
  return values_.size() - 1;
}

DraftRef Draft::add_input(std::string name, std::optional<DType> dtype,
                          std::optional<ExtentList> shape) {
  return add_value({.name = std::move(name), .dtype = dtype, .shape = std::move(shape)});
}

DraftRef Draft::add_weight(std::string name, const Shape& shape) {
  return add_value(
      {.name = std::move(name), .dtype = DType::F32, .shape = known(shape), .is_weight = true});
}

DraftRef Draft::add_constant(Dense value, std::string name) {
  DraftValue v{.name = std::move(name), .dtype = value.dtype(), .shape = known(value.extents)};
  v.elements = integers_in(value);
  v.constant = std::move(value);
  return add_value(std::move(v));
}

DraftRef Draft::add_integers(const std::vector<Index>& list) {
  Dense x = Dense::zeros(DType::I64, {std::ssize(list)});
  std::ranges::copy(list, x.values.mutate<std::int64_t>().begin());
  return add_constant(std::move(x));
}

DraftRef Draft::add_leaf(DraftValue v) { return add_value(std::move(v)); }

DraftRef Draft::add_number(float x) { return add_constant(Dense::of({}, {x})); }

DraftRef Draft::add(Name op, std::vector<DraftRef> in, Attributes attributes, std::string name) {
  DraftStep step{std::move(name), op, std::move(in), std::move(attributes)};
  const auto is_fixed = [&](DraftRef r) { return values_[r].is_fixed || values_[r].constant; };
  DraftValue v = infer(*this, step);
  for (const Extent& e : v.shape.value_or(ExtentList{}))
    if (e.is_known() && e.number < 0) fail("its result would have an extent of {}", e.number);
  // The same again: only its shape was made sure of.
  const bool keeps_order = op == Name("reshape") || op == Name("expand");
  if (keeps_order && v.shape && v.shape == values_[step.in[0]].shape) return step.in[0];
  v.is_fixed = op == Name("shape") || op == Name("size") || std::ranges::all_of(step.in, is_fixed);
  if (v.is_fixed) budget_.spend(*this, step, v);
  if (!v.constant) v.constant = constant_of(v);
  const auto is_constant = [&](DraftRef r) { return values_[r].constant.has_value(); };
  Shape shape;
  // The work of images' windows is not in proportion to what they take and give.
  if (!v.constant && !is_image_operator(op.text()) && v.shape && all_known(*v.shape, shape) &&
      std::ranges::all_of(step.in, is_constant) && checked_size(shape) <= most_folded) {
    std::vector<Tensor> in_values;
    for (const DraftRef r : step.in) in_values.emplace_back(*values_[r].constant);
    v.constant = apply(op, in_values, step.attributes).to_dense();
    v.dtype = v.constant->dtype();
    v.shape = known(v.constant->extents);
  }
  if (v.constant) {
    if (!v.elements) v.elements = integers_in(*v.constant);
    return add_value(std::move(v));
  }
  step.out = values_.size();
  v.step = steps_.size();
  steps_.push_back(std::move(step));
  return add_value(std::move(v));
}

void Draft::add_output(const std::string& name, DraftRef v) {
  const bool is_taken = taken_by_outputs_.contains(v);
  if (values_[v].constant) {
    if (is_taken || !values_[v].name.empty()) v = add_constant(*values_[v].constant);
    values_[v].name = name;
  } else if (is_taken || !values_[v].step || steps_[*values_[v].step].name != name) {
    v = add("identity", {v}, {}, name);
  }
  taken_by_outputs_.insert(v);
  outputs_.push_back({name, v});
}

const DraftStep* Draft::step_of(DraftRef v) const {
  return values_[v].step ? &steps_[*values_[v].step] : nullptr;
}
const DraftStep* Draft::step_of(DraftRef v, std::string_view op) const {
  const DraftStep* s = step_of(v);
  return s && s->op.text() == op ? s : nullptr;
}

}  // namespace sten
