// SPDX-License-Identifier: Apache-2.0
// Translators of convolutions.
#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

// A list of a number per spatial axis.
std::vector<Index> window_list(OnnxCall& c, std::string_view name, std::size_t count,
                               Index fallback) {
  std::vector<Index> all = c.integers(name);
  if (all.empty()) all.assign(count, fallback);
  if (all.size() != count)
    fail("attribute {}: expected {} values, got {}", name, count, to_string(all));
  return all;
}

// The extents of the weight.
Shape weight_of(OnnxCall& c) {
  Shape w;
  if (!all_known(c.shape(1), w)) fail("weight: extents must be known at import");
  if (w.size() < 3 || w.size() > 5)
    fail("weight: expected 1 to 3 spatial axes, got shape {}", to_string(w));
  const std::vector<Index> kernel = c.integers("kernel_shape");
  if (!kernel.empty() && !std::equal(kernel.begin(), kernel.end(), w.begin() + 2, w.end()))
    fail("attribute kernel_shape is {}, but the weight has shape {}", to_string(kernel),
         to_string(w));
  return w;
}

void convolve(OnnxCall& c, const char* op, const Shape& w, Attributes attributes) {
  attributes.set("groups", c.integer("group", 1));
  std::vector<ValueRef> in{c.channels_last(c.in(0), w.size()), c.in(1)};
  if (c.has(2)) in.push_back(c.in(2));
  c.set_channels_last(0, c.add(op, std::move(in), std::move(attributes)), w.size());
}

void convolution(OnnxCall& c) {
  const Shape w = weight_of(c);
  OnnxWindows windows(c, {w.begin() + 2, w.end()});
  windows.pad(c);
  convolve(c, "conv", w, windows.attributes());
}

// Pads crop the result; auto_pad and output_shape give the size of the result.
void transposed_convolution(OnnxCall& c) {
  const Shape w = weight_of(c);
  OnnxWindows windows(c, {w.begin() + 2, w.end()});
  const std::size_t axes = windows.kernel.size();
  std::vector<Index> more = window_list(c, "output_padding", axes, 0),
                     size = c.integers("output_shape");
  const std::string how = c.word("auto_pad", "NOTSET");
  const bool is_same = how == "SAME_UPPER" || how == "SAME_LOWER";
  if (how == "VALID") windows.pads.assign(2 * axes, 0);
  if (size.size() == axes + 2) size.erase(size.begin(), size.begin() + 2);
  if (!size.empty() && size.size() != axes)
    fail("attribute output_shape: expected {} values, got {}", axes, to_string(size));
  for (std::size_t d = 0; d < axes && (is_same || !size.empty()); ++d) {
    Index cut = windows.span(d) + more[d] - windows.strides[d];  // for a result of stride * input
    if (!size.empty()) {
      const ExtentList& x = c.shape(0);
      if (x.size() != axes + 2 || !x[d + 2].is_known())
        fail("padding of the result must be known at import");
      const Extent n = x[d + 2];
      const Index steps = c.builder.extents.product({n, known(windows.strides[d])}).number;
      cut = c.builder.extents
                .difference(c.builder.extents.sum(known(steps), known(cut)), known(size[d]))
                .number;
    }
    if (cut < 0) more[d] -= cut;
    cut = std::max<Index>(0, cut);
    const Index half = how == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
    windows.pads[d] = half;
    windows.pads[axes + d] = cut - half;
  }
  Attributes a = windows.attributes();
  a.set("output-padding", Attributes::Value(more));
  convolve(c, "conv-transpose", w, std::move(a));
}

}  // namespace

OnnxWindows::OnnxWindows(OnnxCall& c, std::vector<Index> sizes) : kernel(std::move(sizes)) {
  const std::size_t axes = kernel.size();
  if (axes < 1 || axes > 3) fail("expected 1 to 3 spatial axes, got {}", axes);
  if (std::ranges::any_of(kernel, [](Index n) { return n < 1 || n > (Index{1} << 31); }))
    fail("kernel extents must be in [1, 2^31], got {}", to_string(kernel));
  strides = window_list(c, "strides", axes, 1);
  dilations = window_list(c, "dilations", axes, 1);
  pads = window_list(c, "pads", 2 * axes, 0);
}

void OnnxWindows::pad(OnnxCall& c) {
  const std::string how = c.word("auto_pad", "NOTSET");
  if (how == "NOTSET") return;
  pads.assign(pads.size(), 0);
  if (how == "VALID") return;
  const std::size_t axes = kernel.size();
  for (std::size_t d = 0; d < axes; ++d) {
    Index all = span(d) - 1;  // as many windows as elements
    if (strides[d] > 1) {
      const auto& x = c.value(0).shape;
      if (!x || x->size() != axes + 2 || !(*x)[d + 2].is_known())
        fail("padding of the input must be known at import");
      const Index n = (*x)[d + 2].number, last = n < 1 ? 0 : (n - 1) / strides[d] * strides[d];
      all = std::max<Index>(0, all - (n - 1 - last));
    }
    const Index less = all / 2;
    pads[d] = how == "SAME_UPPER" ? less : all - less;
    pads[axes + d] = all - pads[d];
  }
}

Attributes OnnxWindows::attributes() const {
  return Attributes()
      .set("strides", Attributes::Value(strides))
      .set("dilations", Attributes::Value(dilations))
      .set("pads", Attributes::Value(pads));
}

void add_image_translators(OnnxTranslators& all) {
  const OnnxTranslators these{{"Conv", convolution}, {"ConvTranspose", transposed_convolution}};
  all.insert(these.begin(), these.end());
}

}  // namespace sten
