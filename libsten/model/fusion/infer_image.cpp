// SPDX-License-Identifier: Apache-2.0
// Shape inference of image operators, on [N, spatial..., C] with windows over the spatial axes.
#include <cmath>

#include "libsten/compute/ops/images/resize.h"
#include "libsten/model/fusion/infer.h"

namespace sten {
namespace {

// A window along one axis.
struct Window {
  Index size = 1, stride = 1, dilation = 1, before = 0, after = 0;
};

// The windows of the spatial axes, as many as the node's lists say. The operators check them again
// when they run.
class Windows {
 public:
  Windows(const Inference& i, const std::vector<Index>& sizes)
      : i_(i), axes_(sizes.size()), sizes_(sizes) {}

  Window at(std::size_t d) const {
    Window w{number(sizes_, d, 1, "kernel"), number(list("strides", axes_, 1), d, 1, "strides"),
             number(list("dilations", axes_, 1), d, 1, "dilations")};
    const Attributes::List pads = list("pads", 2 * axes_, 0);
    w.before = number(pads, d, 0, "pads");
    w.after = number(pads, axes_ + d, 0, "pads");
    return w;
  }
  Attributes::List list(const char* name, std::size_t count, Index fallback) const {
    Attributes::List all = i_.node.attributes.list(name, Attributes::List(count, fallback));
    if (all.size() != count) fail("{}: expected {} values, got {}", name, count, to_string(all));
    return all;
  }
  static Index number(const Attributes::List& all, std::size_t d, Index least, const char* name) {
    constexpr Index most = Index{1} << 31;  // so that products of two do not overflow
    if (all[d] < least || all[d] > most)
      fail("{} must be in [{}, 2^31], got {}", name, least, to_string(all));
    return all[d];
  }

 private:
  const Inference& i_;
  std::size_t axes_;
  const std::vector<Index>& sizes_;
};

Index span_of(const Window& w) { return (w.size - 1) * w.dilation + 1; }

// The number of windows along an axis of n; with `ceil` including one that extends beyond the
// padding but starts before the padding.
Extent count_of(GraphBuilder& builder, Extent n, const Window& w, bool ceil) {
  const Index more = w.before + w.after - span_of(w);
  if (!n.is_known()) {
    if (ceil && w.stride > 1)
      return builder.extents.natural(fmt::format("ceil windows {} {} {}", more, w.stride, w.before),
                                     n);
    if (w.stride > 1)
      return builder.extents.natural(fmt::format("windows {} {}", more, w.stride), n);
    return more == -1 ? n : builder.extents.natural(fmt::format("plus {}", more + 1), n);
  }
  const Index room = builder.extents.sum(n, known(more)).number;
  if (n.number < 1 || room < 0)
    fail("window of {} does not fit the extent {} with a padding of {} and {}", span_of(w),
         n.number, w.before, w.after);
  Index count = (ceil ? ceil_div(room, w.stride) : room / w.stride) + 1;
  if (ceil && (count - 1) * w.stride >= builder.extents.sum(n, known(w.before)).number) --count;
  return known(count);
}

// An image with as many spatial axes as windows. nullptr if its rank is unknown.
const ExtentList* image(const Inference& i, std::size_t axes) {
  if (!i.in(0).shape) return nullptr;
  if (i.shape(0).size() != axes + 2)
    fail("windows of {} axes do not fit a value of {} axes", axes, i.shape(0).size());
  if (axes < 1 || axes > 3) fail("expected 1 to 3 spatial axes, got {}", axes);
  return &i.shape(0);
}

// Weight [O, C / groups, K...]; of the transposed convolution [C, O / groups, K...].
void convolve(Inference& i, bool transposed) {
  i.out.dtype = i.in(0).dtype;
  Shape w;
  if (!i.in(1).shape || !all_known(i.shape(1), w)) return;
  if (w.size() < 3) fail("weight: expected spatial axes, got shape {}", to_string(w));
  const Attributes& a = i.node.attributes;
  const Index groups = a.integer("groups", 1);
  if (groups < 1 || w[0] < 1 || w[1] < 1 || w[0] % groups != 0)
    fail("weight of shape {} is not divisible by {} groups", to_string(w), groups);
  const Extent inner = known(w[1]), all = i.builder.extents.product({inner, known(groups)});
  const std::vector<Index> kernel(w.begin() + 2, w.end());
  const ExtentList* x = image(i, kernel.size());
  if (!x) return;
  const Extent in = transposed ? known(w[0]) : all;
  if (x->back().is_known() && x->back() != in)
    fail("input has {} channels, but the weight {} expects {}", x->back().number, to_string(w),
         in.number);
  const Windows windows(i, kernel);
  ExtentList out{x->front()};
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const Window v = windows.at(d);
    const Extent n = (*x)[d + 1];
    if (!transposed) {
      out.push_back(count_of(i.builder, n, v, false));
      continue;
    }
    const Index more =
        Windows::number(windows.list("output-padding", kernel.size(), 0), d, 0, "output-padding");
    const Index beside = span_of(v) - v.stride - v.before - v.after + more;
    Extents& e = i.builder.extents;
    const Extent stretched = e.product({n, known(v.stride)});
    const Extent size = stretched.is_known() ? e.sum(stretched, known(beside))
                        : beside == 0        ? stretched
                                             : e.natural(fmt::format("plus {}", beside), stretched);
    if (size.is_known() && (size.number < 1 || n.is(0)))
      fail("result has the extent {}", size.number);
    out.push_back(size);
  }
  out.push_back(transposed ? all : known(w[0]));
  i.out.shape = std::move(out);
}
void conv(Inference& i) { convolve(i, false); }
void conv_transpose(Inference& i) { convolve(i, true); }

void pool(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const Attributes::List kernel = i.node.attributes.list("kernel", {});
  const ExtentList* x = image(i, kernel.size());
  if (!x) return;
  const Windows windows(i, kernel);
  const bool ceil = i.node.attributes.integer("ceil", 0) != 0;
  ExtentList out = *x;
  for (std::size_t d = 0; d < kernel.size(); ++d)
    out[d + 1] = count_of(i.builder, out[d + 1], windows.at(d), ceil);
  i.out.shape = std::move(out);
}

void pool_indices(Inference& i) {
  pool(i);
  i.out.dtype = DType::I64;
}

// Pools to the size in the attribute.
void pool_to_size(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const Attributes::List size = i.node.attributes.list("size", {});
  const ExtentList* x = image(i, size.size());
  if (!x) return;
  ExtentList out = *x;
  for (std::size_t d = 0; d < size.size(); ++d) out[d + 1] = known(size[d]);
  i.out.shape = std::move(out);
}

// By attributes, or by an input of the running model.
void resized(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape || i.shape(0).size() < 3) return;
  const std::size_t axes = i.shape(0).size() - 2;
  const Attributes::List size = i.node.attributes.list("size", {});
  const std::vector<double> scales = resize_scales("resize", i.node.attributes, axes);
  if (!size.empty() && size.size() != axes)
    fail("sizes: expected {} values, got {}", axes, size.size());
  ExtentList out = i.shape(0);
  for (std::size_t d = 0; d < axes; ++d) {
    Extent& n = out[d + 1];
    if (!size.empty()) {
      n = known(size[d]);
    } else if (scales.empty()) {
      n = i.builder.extents.fresh();
    } else if (!n.is_known()) {
      if (scales[d] != 1) n = i.builder.extents.natural(fmt::format("resized by {}", scales[d]), n);
    } else {
      const double to = scaled_extent(n.number, scales[d]);
      if (!(to >= 1 && to <= 0x1p31)) fail("extent {} would become {}", n.number, to);
      n = known(static_cast<Index>(to));
    }
  }
  i.out.shape = std::move(out);
}

// x[..., C] with parameters [C].
void normalise(Inference& i) {
  infer_same(i);
  if (!i.in(0).shape || i.shape(0).empty()) return;
  const Extent channels = i.shape(0).back();
  for (std::size_t k = 1; k < i.inputs(); ++k) {
    if (!i.in(k).shape || i.shape(k).size() != 1) continue;
    const Extent n = i.shape(k).front();
    if (n.is_known() && channels.is_known() && n != channels)
      fail("input has {} channels, but the parameters have {}", channels.number, n.number);
  }
}

void moments(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (i.in(0).shape && !i.shape(0).empty()) i.out.shape = ExtentList{known(2), i.shape(0).back()};
}

const InferRules image_rules{{"conv", conv},
                             {"conv-transpose", conv_transpose},
                             {"max-pool", pool},
                             {"max-pool-indices", pool_indices},
                             {"average-pool", pool},
                             {"adaptive-average-pool", pool_to_size},
                             {"adaptive-max-pool", pool_to_size},
                             {"resize", resized},
                             {"lrn", infer_same},
                             {"group-norm", normalise},
                             {"instance-norm", normalise},
                             {"batch-norm", normalise},
                             {"batch-norm-train", normalise},
                             {"batch-moments", moments}};

}  // namespace

void add_image_rules(InferRules& all) { all.insert(image_rules.begin(), image_rules.end()); }
bool is_image_operator(std::string_view op) { return image_rules.contains(op); }

}  // namespace sten
