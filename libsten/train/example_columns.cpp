#include "libsten/train/example_columns.h"

#include <algorithm>
#include <limits>

#include "libsten/base/text.h"
#include "libsten/data/arrays.h"
#include "libsten/data/batches.h"
#include "libsten/data/numbers.h"
#include "libsten/ops/numbers.h"

namespace sten {
namespace {

// An array of a recipe, and the file that it is from; printable.
struct NamedArray {
  Dense x;
  std::string file;
};

// "[batch, 3, ?]"
std::string text_of(const std::vector<OnnxPort::Extent>& shape) {
  std::string text;
  for (const OnnxPort::Extent& e : shape)
    text += (text.empty() ? "" : ", ") + (e.size             ? std::to_string(*e.size)
                                          : e.symbol.empty() ? "?"
                                                             : printable(e.symbol));
  return "[" + text + "]";
}

// The input's shape where rows have as many numbers, whatever the file calls their axes.
Shape shape_for(const OnnxPort& to, const NamedArray& a) {
  const Shape& given = a.x.extents;
  if (!to.shape) return given;
  const auto& wanted = *to.shape;
  const auto fits = [](const OnnxPort::Extent& e, Index n) { return !e.size || *e.size == n; };
  if (std::ranges::equal(wanted, given, fits)) return given;
  Shape shape{given[0]};
  for (std::size_t d = 1; d < wanted.size(); ++d) shape.push_back(wanted[d].size.value_or(-1));
  const bool is_known = std::ranges::count(shape, -1) == 0;
  if (wanted.empty() || !is_known || size_of(shape) != size_of(given))
    fail("{}: is {}, and the model's input {} takes {}", a.file, to_string(given), quote(to.name),
         text_of(wanted));
  return shape;
}

template <class To>
Dense integers_as(DType dtype, const NamedArray& a, const OnnxPort& to) {
  Dense y{a.x.extents, Values::uninitialized(dtype, a.x.size())};
  const auto out = y.values.mutate<To>();
  const bool known = with_number(a.x.dtype(), [&]<class U>(U, auto number) {
    if constexpr (!std::is_integral_v<decltype(number(U{}))>) {
      fail("{}: elements are {}, and the model's input {} takes {}", a.file, name_of(a.x.dtype()),
           quote(to.name), name_of(dtype));
    } else {
      const auto v = a.x.values.as<U>();
      for (std::size_t i = 0; i < v.size(); ++i) {
        if (!std::in_range<To>(v[i]))
          fail("{}: element {} is {}, which {} does not have", a.file,
               place_text(static_cast<Index>(i), a.x.extents), v[i], name_of(dtype));
        out[i] = static_cast<To>(v[i]);
      }
    }
  });
  if (!known) fail("{}: elements are {}, which are no data", a.file, name_of(a.x.dtype()));
  return y;
}

ExampleColumn column_for(const OnnxPort& to, const NamedArray& a, ExampleScale scale,
                         const ImportedModel& m, Index rows) {
  check_open_batch(to, m.file.name());
  if (a.x.extents.empty() || a.x.extents[0] != rows)
    fail("{}: is {}, and there are labels for {} rows", a.file, to_string(a.x.extents), rows);
  ExampleColumn c{to.name, a.x, shape_for(to, a), std::nullopt};
  const bool is_integer = a.x.dtype() == DType::I64 || a.x.dtype() == DType::I32;
  const DType wanted = to.dtype.value_or(is_integer ? a.x.dtype() : DType::F32);
  if (wanted != DType::F32 && (scale.scale != 1 || scale.shift != 0))
    fail_usage("data.scale and data.shift are for F32, and the model's input {} takes {}",
               quote(to.name), name_of(wanted));
  switch (wanted) {
    case DType::F32:
      check_features(a.x, a.file);
      c.scale = scale;
      break;
    case DType::I64:
      c.values = integers_as<std::int64_t>(wanted, a, to);
      break;
    case DType::I32:
      c.values = integers_as<std::int32_t>(wanted, a, to);
      break;
    default:
      if (a.x.dtype() != wanted)
        fail("{}: elements are {}, and the model's input {} takes {}", a.file, name_of(a.x.dtype()),
             quote(to.name), name_of(wanted));
  }
  return c;
}

const OnnxPort* find_port(const ImportedModel& m, const std::string& name) {
  const auto at = std::ranges::find(m.inputs, name, &OnnxPort::name);
  return at == m.inputs.end() ? nullptr : &*at;
}

[[noreturn]] void fail_no_input(const std::string& key, const std::string& name,
                                const ImportedModel& m) {
  std::vector<std::string> names;
  for (const OnnxPort& p : m.inputs) names.push_back(p.name);
  fail_usage("{}: {} is no input of {} that its logits depend on{}", key, quote(name),
             m.file.name(), suggestion(name, names));
}

// The input that features are for: the one that is named, or that nothing else is given for.
const OnnxPort& input_of_features(const DataRecipe& d, const ImportedModel& m) {
  if (!d.input.empty()) {
    if (const OnnxPort* p = find_port(m, d.input)) return *p;
    fail_no_input("data.input", d.input, m);
  }
  const OnnxPort* only = nullptr;
  for (const OnnxPort& p : m.inputs) {
    if (d.inputs.contains(p.name)) continue;
    if (only)
      fail_usage("{}: has inputs {} and {}, and more than one is not given; see data.input",
                 m.file.name(), quote(only->name), quote(p.name));
    only = &p;
  }
  if (!only) fail_usage("{}: has no input for features that is not given", m.file.name());
  return *only;
}

void check_labels(const Dense& labels, const std::string& file, const ImportedModel& m) {
  if (labels.extents.empty() || labels.size() == 0)
    fail("{}: is {}; labels are a row for each example", file, to_string(labels.extents));
  const auto y = labels.values.as<std::int64_t>();
  const Index most = std::ranges::max(y);
  if (m.classes() && most >= *m.classes())
    fail("{}: there are labels up to {}, and the model's output {} tells {} classes apart", file,
         most, quote(m.logits.name), *m.classes());
  if (m.logits.shape && m.logits.shape->size() != labels.extents.size() + 1)
    fail("{}: is {}, and the model's output {} is {}: labels have its shape but for the last axis",
         file, to_string(labels.extents), quote(m.logits.name), text_of(*m.logits.shape));
}

}  // namespace

BatchPart ExampleColumns::part(std::span<const Index> rows) const {
  BatchPart p;
  for (const ExampleColumn& c : inputs)
    p.inputs.emplace(c.input,
                     c.scale ? numbers_of(c.values, rows, c.shape, c.scale->scale, c.scale->shift)
                             : rows_of(c.values, rows, c.shape));
  Dense y = rows_of(labels, rows, labels.extents);
  p.predictions = y.size() - std::ranges::count(y.values.as<std::int64_t>(), ignored_label);
  p.inputs.emplace(labels_input, std::move(y));
  return p;
}

ExampleColumns imported_columns(const DataRecipe& d, const ImportedModel& m, const Dense& labels,
                                const Dense* features) {
  const std::string labels_file = printable(features ? d.file : d.labels);
  ExampleColumns all{{}, m.graph.inputs().back(), labels_of(labels, labels_file, ignored_label)};
  check_labels(all.labels, labels_file, m);
  const Index rows = all.labels.extents[0];
  const auto add = [&](const OnnxPort& to, const NamedArray& a, ExampleScale scale) {
    all.inputs.push_back(column_for(to, a, scale, m, rows));
  };
  if (features)
    add(input_of_features(d, m), {*features, labels_file}, ExampleScale::of(d));
  else if (!d.features.empty())
    add(input_of_features(d, m), {read_array(d.features), printable(d.features)},
        ExampleScale::of(d));
  for (const auto& [input, file] : d.inputs) {
    const OnnxPort* to = find_port(m, input);
    if (!to) fail_no_input("data.inputs", input, m);
    add(*to, {read_array(file), printable(file)}, {});
  }
  for (const OnnxPort& p : m.inputs)
    if (std::ranges::find(all.inputs, p.name, &ExampleColumn::input) == all.inputs.end())
      fail_usage("{}: has an input {}, and nothing is given for it; see data.inputs", m.file.name(),
                 quote(p.name));
  return all;
}

}  // namespace sten
