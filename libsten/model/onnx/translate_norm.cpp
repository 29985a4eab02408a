// SPDX-License-Identifier: Apache-2.0
// Translators of normalizations.
#include <numeric>

#include "libsten/core/base/error.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

Attributes over_axes(std::vector<Index> axes) {
  return Attributes().set("axes", Attributes::Value(std::move(axes))).set("keep", 1);
}

// The attribute axis, counted from the end if the rank is known.
Index axis_from_end(OnnxCall& c) {
  const Index axis = c.integer("axis", -1);
  const auto& x = c.value(0).shape;
  return x && axis >= 0 ? axis - std::ssize(*x) : axis;
}

Attributes over_axes_from(Index axis) {
  if (axis >= 0) fail("unknown rank of input 0");
  std::vector<Index> all(static_cast<std::size_t>(-axis));
  std::iota(all.begin(), all.end(), axis);
  return over_axes(std::move(all));
}

// sqrt(mean(x^2) + eps).
ValueRef root_mean_square(OnnxCall& c, ValueRef x, const Attributes& over, double eps) {
  const ValueRef mean = c.add("mean", {c.add("mul", {x, x})}, over);
  return c.add("sqrt", {c.add("add", {mean, c.builder.add_scalar(static_cast<float>(eps))})});
}

// Over the axes from `axis` on.
void layer_norm(OnnxCall& c) {
  const double eps = c.number("epsilon", 1e-5);
  const Index axis = axis_from_end(c);
  const auto& gamma = c.value(1).shape;
  const bool is_plain = axis == -1 && gamma && gamma->size() == 1 && !gamma->front().is(1) &&
                        gamma->front().is_known();
  if (is_plain && !c.wants(1) && !c.wants(2)) {
    ValueRef beta = 0;
    if (c.has(2))
      beta = c.in(2);
    else
      beta = c.builder.add_constant(Dense::zeros(c.dtype(0), {gamma->front().number}));
    const auto& shape = c.builder[beta].shape;
    if (shape && *shape == *gamma)
      return c.set(0, c.add("layer-norm", {c.in(0), c.in(1), beta}, Attributes().set("eps", eps)));
  }
  const Attributes over = over_axes_from(axis);
  const ValueRef mean = c.add("mean", {c.in(0)}, over);
  const ValueRef centered = c.add("sub", {c.in(0), mean});
  const ValueRef deviation = root_mean_square(c, centered, over, eps);
  ValueRef y = c.add("mul", {c.add("div", {centered, deviation}), c.in(1)});
  if (c.has(2)) y = c.add("add", {y, c.in(2)});
  c.set(0, y);
  c.set(1, mean);
  if (c.wants(2)) c.set(2, c.add("reciprocal", {deviation}));
}

// Over the axes from `axis` on. Output 1 of ONNX Runtime's operator is the reciprocal.
void rms_norm(OnnxCall& c) {
  const double eps = c.number("epsilon", 1e-5);
  const Index axis = axis_from_end(c);
  const auto &x = c.value(0).shape, &weight = c.value(1).shape;
  const bool is_plain = axis == -1 && x && weight && weight->size() == 1 && !x->empty() &&
                        weight->front() == x->back();
  if (is_plain && !c.wants(1))
    return c.set(0, c.add("rms-norm", {c.in(0), c.in(1)}, Attributes().set("eps", eps)));
  const ValueRef root = root_mean_square(c, c.in(0), over_axes_from(axis), eps);
  c.set(0, c.add("mul", {c.add("div", {c.in(0), root}), c.in(1)}));
  if (c.wants(1)) c.set(1, c.add("reciprocal", {root}));
}

// Updates a running statistic: momentum * before + (1 - momentum) * row k of the moments.
ValueRef running(OnnxCall& c, std::size_t input, ValueRef moments, Index k, double momentum) {
  const ValueRef row = c.add(
      "squeeze",
      {c.add("slice", {moments}, Attributes().set("axis", 0).set("begin", k).set("end", k + 1))},
      Attributes().set("axes", Attributes::List{0}));
  const auto times = [&](ValueRef x, double by) {
    return c.add("scale", {x}, Attributes().set("by", by));
  };
  return c.add("add", {times(c.in(input), momentum), times(row, 1 - momentum)});
}

// Training mode is indicated by further outputs or, since opset 14, an attribute. As exported, the
// batch norm then uses the batch's moments; otherwise the running statistics.
void batch_norm(OnnxCall& c) {
  const std::size_t rank = c.shape(0).size();
  if (rank < 2) fail("input: expected an axis of channels, got {} axes", rank);
  if (!c.integer("spatial", 1)) fail("attribute spatial: expected 1, got 0");
  const double momentum = c.number("momentum", 0.9);
  const Attributes eps = Attributes().set("eps", c.number("epsilon", 1e-5));
  const bool trains = c.integer("training_mode", 0) != 0 || (c.opset < 14 && c.wants(1));
  const ValueRef x = c.channels_last(c.in(0), rank);
  c.training.is_exported |= trains;
  c.training.momenta.emplace(c.value(3).name, 1 - momentum);
  if (!trains || c.training.mode != OnnxMode::exported) {
    const ValueRef y = c.add("batch-norm", {x, c.in(1), c.in(2), c.in(3), c.in(4)}, eps);
    for (const std::size_t i : {1, 2})
      if (c.wants(i)) c.set(i, c.in(i + 2));
    return c.set_channels_last(0, y, rank);
  }
  const ValueRef moments = c.add("batch-moments", {x});
  c.set_channels_last(0, c.add("batch-norm-train", {x, c.in(1), c.in(2)}, eps), rank);
  for (const std::size_t i : {1, 2})
    if (c.wants(i)) c.set(i, running(c, i + 2, moments, static_cast<Index>(i) - 1, momentum));
}

// Per image and channel.
void instance_norm(OnnxCall& c) {
  const std::size_t rank = c.shape(0).size();
  if (rank < 3) fail("input: expected spatial axes, got {} axes", rank);
  const ValueRef x = c.channels_last(c.in(0), rank);
  const Attributes eps = Attributes().set("eps", c.number("epsilon", 1e-5));
  c.set_channels_last(0, c.add("instance-norm", {x, c.in(1), c.in(2)}, eps), rank);
}

// Per image and group of channels. Parameters are per group before opset 21, and per channel since.
void group_norm(OnnxCall& c) {
  const ExtentList& shape = c.shape(0);
  const std::size_t rank = shape.size();
  if (rank < 2 || !shape[1].is_known()) fail("channels must be known at import");
  const Index groups = c.integer("num_groups", 1), channels = shape[1].number;
  if (channels % groups != 0) fail("{} channels are not divisible by {} groups", channels, groups);
  const auto of_channels = [&](ValueRef v) {
    if (c.opset >= 21) return v;
    const Attributes::List parted{groups, channels / groups};
    const ValueRef one = c.add("unsqueeze", {v}, Attributes().set("axes", Attributes::List{1}));
    return c.add("reshape", {c.add("expand", {one}, Attributes().set("shape", parted))},
                 Attributes().set("shape", Attributes::List{channels}));
  };
  const ValueRef x = c.channels_last(c.in(0), rank);
  const Attributes a = Attributes().set("groups", groups).set("eps", c.number("epsilon", 1e-5));
  c.set_channels_last(0, c.add("group-norm", {x, of_channels(c.in(1)), of_channels(c.in(2))}, a),
                      rank);
}

void local_response_norm(OnnxCall& c) {
  const std::size_t rank = c.shape(0).size();
  if (rank < 2) fail("input: expected an axis of channels, got {} axes", rank);
  const Attributes a = Attributes()
                           .set("size", c.integer("size", 1))
                           .set("alpha", c.number("alpha", 1e-4))
                           .set("beta", c.number("beta", 0.75))
                           .set("bias", c.number("bias", 1));
  c.set_channels_last(0, c.add("lrn", {c.channels_last(c.in(0), rank)}, a), rank);
}

}  // namespace

void add_norm_translators(OnnxTranslators& all) {
  const OnnxTranslators these{{"LayerNormalization", layer_norm},
                              {"RMSNormalization", rms_norm},
                              {"SimplifiedLayerNormalization", rms_norm},
                              {"BatchNormalization", batch_norm},
                              {"InstanceNormalization", instance_norm},
                              {"GroupNormalization", group_norm},
                              {"LRN", local_response_norm}};
  all.insert(these.begin(), these.end());
}

}  // namespace sten
