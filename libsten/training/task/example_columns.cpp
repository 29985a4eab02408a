// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/example_columns.h"

#include <algorithm>

#include "libsten/compute/ops/common/indices.h"
#include "libsten/core/base/hash.h"
#include "libsten/core/base/name_list.h"
#include "libsten/core/base/scalars.h"
#include "libsten/core/base/text.h"
#include "libsten/data/batches.h"

namespace sten {
namespace {

// An array of a recipe, and its file; printable.
struct NamedArray {
  Dense x;
  std::string file;
};

// The input's shape if the rows have as many elements, whatever their axes are in the file.
Shape shape_for(const GraphPort& to, const NamedArray& a) {
  const Shape& given = a.x.extents;
  if (!to.shape) return given;
  const auto& wanted = *to.shape;
  const auto fits = [](const GraphPort::Extent& e, Index n) { return !e.size || *e.size == n; };
  if (std::ranges::equal(wanted, given, fits)) return given;
  Shape shape{given[0]};
  for (std::size_t d = 1; d < wanted.size(); ++d) shape.push_back(wanted[d].size.value_or(-1));
  const bool is_known = std::ranges::count(shape, -1) == 0;
  if (wanted.empty() || !is_known || size_of(shape) != size_of(given))
    fail("{}: shape {} does not fit input {} of the model, {}", a.file, to_string(given),
         quote(to.name), shape_text(wanted));
  return shape;
}

template <class To>
Dense integers_as(DType dtype, const NamedArray& a, const GraphPort& to) {
  Dense y{a.x.extents, Values::uninitialized(dtype, a.x.size())};
  const auto out = y.values.mutate<To>();
  const bool known = with_scalar(a.x.dtype(), [&]<class U>(U, auto number) {
    if constexpr (!std::is_integral_v<decltype(number(U{}))>) {
      fail("{}: elements are {}, but input {} of the model is {}", a.file, name_of(a.x.dtype()),
           quote(to.name), name_of(dtype));
    } else {
      const auto v = a.x.values.as<U>();
      for (std::size_t i = 0; i < v.size(); ++i) {
        if (!std::in_range<To>(v[i]))
          fail("{}: element {} is {}, which does not fit {}", a.file,
               index_text(static_cast<Index>(i), a.x.extents), v[i], name_of(dtype));
        out[i] = static_cast<To>(v[i]);
      }
    }
  });
  if (!known) fail("{}: unsupported element type {}", a.file, name_of(a.x.dtype()));
  return y;
}

ExampleColumn column_for(const GraphPort& to, const NamedArray& a, ExampleScale scale,
                         const ImportedModel& m, Index rows) {
  check_open_batch(to, m.name);
  if (a.x.extents.empty() || a.x.extents[0] != rows)
    fail("{}: shape {} does not fit the {} labels", a.file, to_string(a.x.extents), rows);
  ExampleColumn c{to.name, {a.x}, shape_for(to, a), std::nullopt};
  const bool is_integer = a.x.dtype() == DType::I64 || a.x.dtype() == DType::I32;
  const DType wanted = to.dtype.value_or(is_integer ? a.x.dtype() : DType::F32);
  if (wanted != DType::F32 && (scale.scale != 1 || scale.shift != 0))
    fail_usage("data.scale and data.shift need an F32 input, but input {} of the model is {}",
               quote(to.name), name_of(wanted));
  switch (wanted) {
    case DType::F32:
      check_features(a.x, a.file);
      c.scale = scale;
      break;
    case DType::I64:
      c.values.array = integers_as<std::int64_t>(wanted, a, to);
      break;
    case DType::I32:
      c.values.array = integers_as<std::int32_t>(wanted, a, to);
      break;
    default:
      if (a.x.dtype() != wanted)
        fail("{}: elements are {}, but input {} of the model is {}", a.file, name_of(a.x.dtype()),
             quote(to.name), name_of(wanted));
  }
  return c;
}

const GraphPort* find_port(const ImportedModel& m, const std::string& name) {
  const auto at = std::ranges::find(m.inputs, name, &GraphPort::name);
  return at == m.inputs.end() ? nullptr : &*at;
}

[[noreturn]] void fail_no_input(const std::string& key, const std::string& name,
                                const ImportedModel& m) {
  std::vector<std::string> names;
  for (const GraphPort& p : m.inputs) names.push_back(p.name);
  fail_usage("{}: unknown input {} of {}{} (the logits depend on {})", key, quote(name), m.name,
             suggestion(name, names), name_list(names));
}

// The input for features: the named one, or the only one without an array.
const GraphPort& input_of_features(const DataRecipe& d, const ImportedModel& m) {
  if (!d.input.empty()) {
    if (const GraphPort* p = find_port(m, d.input)) return *p;
    fail_no_input("data.input", d.input, m);
  }
  const GraphPort* only = nullptr;
  for (const GraphPort& p : m.inputs) {
    if (d.inputs.contains(p.name)) continue;
    if (only)
      fail_usage("{}: inputs {} and {} have no data (see data.input, data.inputs)", m.name,
                 quote(only->name), quote(p.name));
    only = &p;
  }
  if (!only) fail_usage("{}: no input left for data.features", m.name);
  return *only;
}

void check_labels(const Dense& labels, const std::string& file, const ImportedModel& m) {
  if (labels.extents.empty() || labels.size() == 0)
    fail("{}: labels must be [examples, ...], got {}", file, to_string(labels.extents));
  const auto y = labels.values.as<std::int64_t>();
  const Index most = std::ranges::max(y);
  if (most == ignored_label)
    fail("{}: all labels are {}, which the loss ignores", file, ignored_label);
  if (m.classes() && most >= *m.classes())
    fail("{}: label {} is out of range: the model's output {} has {} classes", file, most,
         quote(m.logits.name), *m.classes());
  if (m.logits.shape && m.logits.shape->size() != labels.extents.size() + 1)
    fail(
        "{}: labels of shape {} do not fit output {} of the model, {} (expected the shape without "
        "the last axis)",
        file, to_string(labels.extents), quote(m.logits.name), shape_text(*m.logits.shape));
}

}  // namespace

namespace {
bool have_bytes(const DataRecipe& d) {
  return d.kind == "cifar" || d.kind == "images" || d.kind == "shapes";
}
}  // namespace

bool are_images(const DataRecipe& d) {
  return have_bytes(d) || !d.mean.empty() || !d.std.empty() || d.crop_padding > 0 || d.mirror;
}

namespace {
std::optional<RandomResizedCrop> crop_of(const DataRecipe& d) {
  if (!d.random_resized_crop) return std::nullopt;
  const RandomResizedCropRecipe& c = *d.random_resized_crop;
  return RandomResizedCrop{{c.scale.front(), c.scale.back()}, {c.ratio.front(), c.ratio.back()}};
}
}  // namespace

ImageInput ImageInput::of(const Recipe& r, Index channels) {
  const DataRecipe& d = r.data;
  const bool bytes = have_bytes(d);
  return {channel_scale(channels, bytes ? 1.0 / 255 : d.scale, bytes ? 0 : d.shift, d.mean, d.std),
          {d.crop_padding, d.mirror, r.seed, crop_of(d)}};
}

namespace {

Dense input_of(const ExampleColumn& c, std::span<const Index> rows, std::optional<Index> epoch) {
  const Dense& array = c.values.array;
  if (c.image) {
    const ImageInput& image = *c.image;
    std::vector<std::uint64_t> numbers;
    if (epoch && !image.augmentation.is_none())
      for (const Index r : rows)
        numbers.push_back(static_cast<std::uint64_t>(*epoch * c.values.extents()[0] + r));
    std::vector<ImageView> views;
    for (const std::uint64_t i : numbers) views.push_back(view_of(image.augmentation, i));
    Dense x = c.values.files ? images_of(*c.values.files, rows, image.scale, image.augmentation,
                                         numbers, image.channels_first)
                             : images_of(array, rows, image.scale, views, image.channels_first);
    Shape shape = c.shape;
    shape[0] = std::ssize(rows);
    x.extents = shape;
    return x;
  }
  return c.scale ? numbers_of(array, rows, c.shape, c.scale->scale, c.scale->shift)
                 : rows_of(array, rows, c.shape);
}

// Images for an input of a model. ONNX models take channels first.
ExampleColumn images_for(const GraphPort& to, const Features& images, const std::string& name,
                         const Recipe& r, const ImportedModel& m) {
  check_open_batch(to, m.name);
  const Shape s = images.extents();
  if (s.size() != 4 || (to.dtype && *to.dtype != DType::F32))
    fail("{}: expected images [N, H, W, C] for the model's input {}, got shape {}", name,
         quote(to.name), to_string(s));
  const Shape shape = m.channels_first ? Shape{s[0], s[3], s[1], s[2]} : s;
  const auto fits = [](const GraphPort::Extent& e, Index n) { return !e.size || *e.size == n; };
  if (to.shape && !std::ranges::equal(*to.shape, shape, fits))
    fail("{}: images {} (channels first) do not fit input {} of the model, {}", name,
         to_string(shape), quote(to.name), shape_text(*to.shape));
  ExampleColumn c{to.name, images, shape, std::nullopt, ImageInput::of(r, s[3])};
  c.image->channels_first = m.channels_first;
  return c;
}

}  // namespace

std::uint64_t ExampleColumns::hashed(std::uint64_t hash) const {
  for (const ExampleColumn& c : inputs)
    hash = c.values.files ? c.values.files->hashed(hash)
                          : hash_bytes(hash, c.values.array.values.bytes());
  return hash_bytes(hash, labels.values.bytes());
}

BatchPart ExampleColumns::part(std::span<const Index> rows, std::optional<Index> epoch) const {
  BatchPart p;
  for (const ExampleColumn& c : inputs) p.inputs.emplace(c.input, input_of(c, rows, epoch));
  Dense y = rows_of(labels, rows, labels.extents);
  p.predictions = y.size() - std::ranges::count(y.values.as<std::int64_t>(), ignored_label);
  p.inputs.emplace(labels_input, std::move(y));
  return p;
}

ExampleColumns imported_columns(const Recipe& r, const ImportedModel& m, const Dense& labels,
                                const std::string& labels_name, const Features* features,
                                const std::string& features_name) {
  const DataRecipe& d = r.data;
  ExampleColumns all{{}, m.graph.inputs().back(), labels_of(labels, labels_name, ignored_label)};
  check_labels(all.labels, labels_name, m);
  const Index rows = all.labels.extents[0];
  if (features) {
    const GraphPort& to = input_of_features(d, m);
    all.inputs.push_back(are_images(d) ? images_for(to, *features, features_name, r, m)
                                       : column_for(to, {features->array, features_name},
                                                    ExampleScale::of(d), m, rows));
  }
  for (const auto& [input, file] : d.inputs) {
    const GraphPort* to = find_port(m, input);
    if (!to) fail_no_input("data.inputs", input, m);
    all.inputs.push_back(
        column_for(*to, {read_features(file, input), printable(file)}, {}, m, rows));
  }
  for (const GraphPort& p : m.inputs)
    if (std::ranges::find(all.inputs, p.name, &ExampleColumn::input) == all.inputs.end())
      fail_usage("{}: input {} has no data (see data.inputs)", m.name, quote(p.name));
  return all;
}

}  // namespace sten
