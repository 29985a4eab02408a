// SPDX-License-Identifier: Apache-2.0
// Translators of pooling over windows and over whole images.

#include "libsten/core/base/error.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

struct Pool {
  std::size_t rank;
  OnnxWindows windows;
  Attributes attributes;

  explicit Pool(OnnxCall& c) : rank(0), windows(c, c.integers("kernel_shape")) {
    rank = windows.kernel.size() + 2;
    windows.pad(c);
    attributes = windows.attributes();
    attributes.set("kernel", Attributes::Value(windows.kernel));
    if (c.integer("ceil_mode", 0)) attributes.set("ceil", 1);
  }
};

// Also for small integers, which floats hold exactly.
void max_pool(OnnxCall& c) {
  const Pool p(c);
  const Index by_columns = c.integer("storage_order", 0);
  const auto dtype = c.value(0).dtype;
  const bool is_small = dtype == DType::U8 || dtype == DType::I8;
  const auto cast = [&](ValueRef x, DType to) {
    return c.add("cast", {x}, Attributes().set("to", std::string(name_of(to))));
  };
  ValueRef x = is_small ? cast(c.in(0), DType::F32) : c.in(0);
  const ValueRef images = c.channels_last(x, p.rank);
  const ValueRef y = c.add("max-pool", {images}, p.attributes);
  c.set_channels_last(0, is_small ? cast(y, *dtype) : y, p.rank);
  if (c.results().size() < 2) return;
  Attributes indices = p.attributes;
  if (by_columns) indices.set("column-major", 1);
  c.set_channels_last(1, c.add("max-pool-indices", {images}, std::move(indices)), p.rank);
}

void average_pool(OnnxCall& c) {
  Pool p(c);
  p.attributes.set("count-pads", c.integer("count_include_pad", 0));
  c.set_channels_last(0, c.add("average-pool", {c.channels_last(c.in(0), p.rank)}, p.attributes),
                      p.rank);
}

// (sum of |x|^p)^(1 / p), given the sum.
ValueRef rooted(OnnxCall& c, ValueRef sum, double p) {
  if (p == 1) return sum;
  if (p == 2) return c.add("sqrt", {sum});
  return c.add("pow", {sum, c.builder.add_scalar(static_cast<float>(1 / p))});
}
ValueRef powers(OnnxCall& c, double p) {
  if (p == 1) return c.add("abs", {c.in(0)});
  if (p == 2) return c.add("mul", {c.in(0), c.in(0)});
  return c.add("pow", {c.add("abs", {c.in(0)}), c.builder.add_scalar(static_cast<float>(p))});
}
// A float before opset 2.
double power(OnnxCall& c) {
  return c.opset < 2 ? c.number("p", 2) : static_cast<double>(c.integer("p", 2));
}

// The sum is the mean over a window including padding, times the window's size.
void lp_pool(OnnxCall& c) {
  Pool p(c);
  const double by = power(c);
  if (p.attributes.integer("ceil", 0)) fail("unsupported attribute ceil_mode");
  double size = 1;
  for (const Index k : p.windows.kernel) size *= static_cast<double>(k);
  p.attributes.set("count-pads", 1);
  const ValueRef mean =
      c.add("average-pool", {c.channels_last(powers(c, by), p.rank)}, p.attributes);
  const ValueRef sum = c.add("scale", {mean}, Attributes().set("by", size));
  c.set_channels_last(0, rooted(c, sum, by), p.rank);
}

// All spatial axes.
Attributes spatial(OnnxCall& c) {
  Attributes::List axes;
  for (std::size_t d = 2; d < c.shape(0).size(); ++d) axes.push_back(static_cast<Index>(d));
  if (axes.empty()) fail("input: expected spatial axes, got {} axes", c.shape(0).size());
  return Attributes().set("axes", axes).set("keep", 1);
}
void global_average(OnnxCall& c) { c.set(0, c.add("mean", {c.in(0)}, spatial(c))); }
void global_max(OnnxCall& c) { c.set(0, c.add("reduce-max", {c.in(0)}, spatial(c))); }
void global_lp(OnnxCall& c) {
  const double p = power(c);
  c.set(0, rooted(c, c.add("sum", {powers(c, p)}, spatial(c)), p));
}

}  // namespace

void add_pool_translators(OnnxTranslators& all) {
  const OnnxTranslators these{{"MaxPool", max_pool},         {"AveragePool", average_pool},
                              {"LpPool", lp_pool},           {"GlobalAveragePool", global_average},
                              {"GlobalMaxPool", global_max}, {"GlobalLpPool", global_lp}};
  all.insert(these.begin(), these.end());
}

}  // namespace sten
