// SPDX-License-Identifier: Apache-2.0
// Translators of image resizing.
#include <algorithm>

#include <fmt/ranges.h>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

// The numbers of input i per axis of x. Axes that the attribute axes omits get `own`. None if the
// numbers are known only when the model runs.
template <class T, class Own>
std::optional<std::vector<T>> for_all_axes(OnnxCall& c, const std::optional<std::vector<T>>& given,
                                           std::size_t rank, Own own) {
  if (!given) return {};
  std::vector<Index> axes = c.integers("axes");
  if (axes.empty())
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(static_cast<Index>(d));
  if (axes.size() != given->size())
    fail("expected {} values for {} of {} axes, got {}", axes.size(), axes.size(), rank,
         given->size());
  std::vector<T> all;
  for (std::size_t d = 0; d < rank; ++d) all.push_back(own(d));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Index d = axes[i] < 0 ? axes[i] + static_cast<Index>(rank) : axes[i];
    if (d < 0 || d >= static_cast<Index>(rank))
      fail("axis {} is out of range for {} axes", axes[i], rank);
    all[static_cast<std::size_t>(d)] = (*given)[i];
  }
  return all;
}

std::optional<std::vector<double>> constant_values(OnnxCall& c, std::size_t i) {
  const auto& given = c.value(i).constant;
  if (!given || given->dtype() != DType::F32) return {};
  const auto v = given->values.as<float>();
  return std::vector<double>(v.begin(), v.end());
}

// Resizes x by the values of input `i` when the model runs. The operator checks that images and
// channels keep their extents.
ValueRef resize_at_run(OnnxCall& c, ValueRef x, std::size_t i, std::size_t rank,
                       const Attributes& a) {
  if (!c.integers("axes").empty()) fail("sizes along axes must be known at import");
  const ValueRef order = c.builder.add_integers(axes_to_last(rank));
  return c.add("resize", {x, c.add("gather", {c.in(i), order})}, a);
}
void resize_by(OnnxCall& c, std::optional<std::vector<double>> given, std::size_t i,
               const Attributes& a) {
  const std::size_t rank = c.shape(0).size();
  const ValueRef x = c.channels_last(c.in(0), rank);
  const auto scales = for_all_axes(c, given, rank, [](std::size_t) { return 1.0; });
  if (!scales) return c.set_channels_last(0, resize_at_run(c, x, i, rank, a), rank);
  if ((*scales)[0] != 1 || (*scales)[1] != 1)
    fail("scales of images and channels must be 1, got {} and {}", (*scales)[0], (*scales)[1]);
  Attributes by = a;
  by.set("scales", fmt::format("{}", fmt::join(scales->begin() + 2, scales->end(), ",")));
  c.set_channels_last(0, c.add("resize", {x}, by), rank);
}
void resize_to(OnnxCall& c, const Attributes& a) {
  const ExtentList own = c.shape(0);
  const std::size_t rank = own.size();
  const ValueRef x = c.channels_last(c.in(0), rank);
  const auto sizes =
      for_all_axes(c, c.value(3).elements, rank, [&](std::size_t d) { return own[d]; });
  Shape to;
  const bool is_known = sizes && (*sizes)[0] == own[0] && (*sizes)[1] == own[1] &&
                        all_known({sizes->begin() + 2, sizes->end()}, to);
  if (!is_known) return c.set_channels_last(0, resize_at_run(c, x, 3, rank, a), rank);
  Attributes by = a;
  by.set("size", Attributes::Value(to));
  c.set_channels_last(0, c.add("resize", {x}, by), rank);
}

std::string with_hyphens(std::string word) {
  std::ranges::replace(word, '_', '-');
  return word;
}

void check_images(OnnxCall& c) {
  const std::size_t rank = c.shape(0).size();
  if (rank < 3 || rank > 5) fail("input: expected 1 to 3 spatial axes, got {} axes", rank);
}
// "linear" stands for any number of axes.
Attributes resize_mode(OnnxCall& c) {
  const std::string mode = c.word("mode", "nearest");
  return Attributes().set("mode", mode == "bilinear" ? "linear" : mode);
}

void resize_images(OnnxCall& c) {
  check_images(c);
  Attributes a = resize_mode(c);
  if (c.opset < 11) {
    a.set("coordinates", "asymmetric").set("nearest", "floor");
    return resize_by(c, constant_values(c, 1), 1, a);
  }
  std::string where = c.word("coordinate_transformation_mode", "half_pixel");
  if (where == "tf_half_pixel_for_nn") where = "tf_half_pixel";
  a.set("coordinates", with_hyphens(where));
  a.set("nearest", with_hyphens(c.word("nearest_mode", "round_prefer_floor")));
  // Not all attributes have an effect on all modes.
  const std::string mode = a.word("mode", "");
  const bool excludes = c.integer("exclude_outside", 0), antialias = c.integer("antialias", 0);
  const double cubic = c.number("cubic_coeff_a", -0.75);
  if (antialias && mode != "nearest") fail("unsupported attribute antialias");
  if (excludes && mode == "linear") fail("unsupported attribute exclude_outside");
  if (mode == "cubic") a.set("cubic", cubic).set("exclude-outside", static_cast<Index>(excludes));
  c.word("keep_aspect_ratio_policy", "stretch");
  // Some files have an empty list of scales besides sizes.
  if (c.has(3)) return resize_to(c, a);
  if (!c.has(2)) fail("missing scales or sizes");
  resize_by(c, constant_values(c, 2), 2, a);
}

void upsample(OnnxCall& c) {
  check_images(c);
  Attributes a = resize_mode(c);
  a.set("coordinates", "asymmetric").set("nearest", "floor");
  if (c.opset >= 9) return resize_by(c, constant_values(c, 1), 1, a);
  if (!c.has_attribute("scales")) fail("missing attribute scales");
  const std::vector<float>& scales = c.node.find("scales")->numbers;
  resize_by(c, std::vector<double>(scales.begin(), scales.end()), 0, a);
}

}  // namespace

void add_resize_translators(OnnxTranslators& all) {
  const OnnxTranslators these{{"Resize", resize_images}, {"Upsample", upsample}};
  all.insert(these.begin(), these.end());
}

}  // namespace sten
