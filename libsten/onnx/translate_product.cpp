// Products of matrices, and normalisation.
#include <algorithm>
#include <numeric>

#include "libsten/base/error.h"
#include "libsten/base/text.h"
#include "libsten/io/safetensors.h"
#include "libsten/onnx/translate.h"

namespace sten {
namespace {

Attributes axes(std::vector<Index> list) {
  return Attributes().set("axes", Attributes::Value(std::move(list)));
}

// An operand of one axis is a row on the left and a column on the right.
void matmul(OnnxCall& c) {
  DraftRef a = c.in(0), b = c.in(1);
  const auto is_vector = [&](DraftRef v) {
    return c.draft[v].shape && c.draft[v].shape->size() == 1;
  };
  const bool is_row = is_vector(a), is_column = is_vector(b);
  if (is_row) a = c.add("unsqueeze", {a}, axes({0}));
  if (is_column) b = c.add("unsqueeze", {b}, axes({1}));
  DraftRef y = c.add("matmul", {a, b});
  std::vector<Index> gone;
  if (is_row) gone.push_back(-2);
  if (is_column) gone.push_back(-1);
  if (!gone.empty()) y = c.add("squeeze", {y}, axes(gone));
  c.set(0, y);
}

// alpha * a * b + beta * c.
void gemm(OnnxCall& c) {
  const double alpha = c.number("alpha", 1), beta = c.number("beta", 1);
  const auto scaled = [&](DraftRef x, double by) {
    return by == 1 ? x : c.add("scale", {x}, Attributes().set("by", by));
  };
  c.ignore("broadcast");
  DraftRef a = c.in(0);
  if (c.integer("transA", 0)) a = c.add("transpose", {a}, axes({1, 0}));
  DraftRef y =
      c.integer("transB", 0) ? c.add("linear", {a, c.in(1)}) : c.add("matmul", {a, c.in(1)});
  y = scaled(y, alpha);
  if (c.has(2) && beta != 0) y = c.add("add", {y, scaled(c.in(2), beta)});
  c.set(0, y);
}

// A convolution whose windows lie side by side, as that of a vision transformer's patches, is a
// product of each with the weight. Others come with an operator of their own.
void convolution(OnnxCall& c) {
  const std::vector<Index> kernel = c.integers("kernel_shape"), steps = c.integers("strides"),
                           pads = c.integers("pads"), spread = c.integers("dilations");
  const auto all = [](const std::vector<Index>& list, Index n) {
    return std::ranges::all_of(list, [=](Index i) { return i == n; });
  };
  const std::string padding = c.word("auto_pad", "NOTSET");
  Shape x, w;
  const bool is_image = c.value(0).shape && c.shape(0).size() == 4 && c.value(1).shape &&
                        all_known(c.shape(1), w) && w.size() == 4;
  const bool are_patches = is_image && steps == std::vector<Index>{w[2], w[3]} && all(pads, 0) &&
                           all(spread, 1) && c.integer("group", 1) == 1 &&
                           (padding == "NOTSET" || padding == "VALID") &&
                           (kernel.empty() || kernel == steps) &&
                           all_known({c.shape(0).begin() + 1, c.shape(0).end()}, x) &&
                           x[0] == w[1] && x[1] % w[2] == 0 && x[2] % w[3] == 0;
  if (!are_patches)
    fail(
        "sten has no convolutions yet but those of patches: strides as large as the kernel, no "
        "padding, groups or dilations, and an image of known extents");
  const Index rows = x[1] / w[2], cols = x[2] / w[3];
  const auto reshaped = [&](DraftRef v, const std::vector<Index>& shape) {
    return c.add("reshape", {v},
                 Attributes().set("shape", Attributes::Value(shape)).set("copy-zeros", 1));
  };
  DraftRef y = reshaped(c.in(0), {0, x[0], rows, w[2], cols, w[3]});
  y = c.add("transpose", {y}, axes({0, 2, 4, 1, 3, 5}));
  y = reshaped(y, {0, rows * cols, w[1] * w[2] * w[3]});
  y = c.add("linear", {y, reshaped(c.in(1), {w[0], -1})});
  if (c.has(2)) y = c.add("add", {y, c.in(2)});
  y = c.add("transpose", {y}, axes({0, 2, 1}));
  c.set(0, reshaped(y, {0, w[0], rows, cols}));
}

void einsum(OnnxCall& c) {
  std::vector<DraftRef> in;
  for (std::size_t i = 0; i < c.inputs(); ++i) in.push_back(c.in(i));
  c.set(0, c.add("einsum", std::move(in), Attributes().set("equation", c.word("equation", ""))));
}

// Over the axes from `axis` on.
void layer_norm(OnnxCall& c) {
  const double eps = c.number("epsilon", 1e-5);
  c.ignore("stash_type");
  Index axis = c.integer("axis", -1);
  const auto& gamma = c.value(1).shape;
  const auto& x = c.value(0).shape;
  if (x && axis >= 0) axis -= std::ssize(*x);
  const bool is_plain = axis == -1 && gamma && gamma->size() == 1 && !gamma->front().is(1) &&
                        gamma->front().is_known();
  if (is_plain && !c.wants(1) && !c.wants(2)) {
    DraftRef beta = 0;
    if (c.has(2))
      beta = c.in(2);
    else
      beta = c.draft.add_constant(Dense::zeros(c.dtype(0), {gamma->front().number}));
    const auto& shape = c.draft[beta].shape;
    if (shape && *shape == *gamma)
      return c.set(0, c.add("layer-norm", {c.in(0), c.in(1), beta}, Attributes().set("eps", eps)));
  }
  if (axis >= 0) fail("the rank of its input 0 is not known");
  if (axis < -static_cast<Index>(max_rank)) fail("its axis is {}", axis);
  std::vector<Index> all(static_cast<std::size_t>(-axis));
  std::iota(all.begin(), all.end(), axis);
  const Attributes over = axes(all).set("keep", 1);
  const DraftRef mean = c.add("mean", {c.in(0)}, over);
  const DraftRef centered = c.add("sub", {c.in(0), mean});
  const DraftRef variance = c.add("mean", {c.add("mul", {centered, centered})}, over);
  const DraftRef deviation =
      c.add("sqrt", {c.add("add", {variance, c.draft.add_number(static_cast<float>(eps))})});
  DraftRef y = c.add("mul", {c.add("div", {centered, deviation}), c.in(1)});
  if (c.has(2)) y = c.add("add", {y, c.in(2)});
  c.set(0, y);
  c.set(1, mean);
  if (c.wants(2)) c.set(2, c.add("reciprocal", {deviation}));
}

}  // namespace

void add_product_translators(OnnxTranslators& all) {
  const OnnxTranslators these{{"MatMul", matmul},
                              {"Gemm", gemm},
                              {"Conv", convolution},
                              {"Einsum", einsum},
                              {"LayerNormalization", layer_norm}};
  all.insert(these.begin(), these.end());
}

}  // namespace sten
