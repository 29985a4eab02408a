// SPDX-License-Identifier: Apache-2.0
// Translators of reductions, and of operators along an axis.
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

void reduce(OnnxCall& c, const char* op) {
  Attributes a;
  a.set("keep", c.integer("keepdims", 1));
  const bool noop = c.integer("noop_with_empty_axes", 0) != 0;
  if (noop) a.set("noop", 1);
  std::vector<ValueRef> in{c.in(0)};
  if (c.has_list(1, "axes")) {
    if (const auto axes = c.list(1, "axes"))
      a.set("axes", Attributes::Value(*axes));
    else
      in.push_back(c.in(1));
  }
  c.set(0, c.add(op, std::move(in), std::move(a)));
}
void sum(OnnxCall& c) { reduce(c, "sum"); }
void mean(OnnxCall& c) { reduce(c, "mean"); }
void most(OnnxCall& c) { reduce(c, "reduce-max"); }
void least(OnnxCall& c) { reduce(c, "reduce-min"); }
void product(OnnxCall& c) { reduce(c, "reduce-prod"); }
void l1(OnnxCall& c) { reduce(c, "reduce-l1"); }
void l2(OnnxCall& c) { reduce(c, "reduce-l2"); }
void squares(OnnxCall& c) { reduce(c, "reduce-sum-square"); }
void log_sum(OnnxCall& c) { reduce(c, "reduce-log-sum"); }
void log_sum_exp(OnnxCall& c) { reduce(c, "reduce-log-sum-exp"); }

// Before opset 13, the axes from `axis` on are flattened to one.
void along(OnnxCall& c, const char* op) {
  const Index axis = c.integer("axis", c.opset < 13 ? 1 : -1);
  const ValueRef x = c.in(0);
  const auto axis_attribute = [](Index a) { return Attributes().set("axis", a); };
  if (c.opset >= 13 || axis == -1) return c.set(0, c.add(op, {x}, axis_attribute(axis)));
  const Index rank = std::ssize(c.shape(0)), d = axis < 0 ? axis + rank : axis;
  if (d == rank - 1) return c.set(0, c.add(op, {x}, axis_attribute(d)));
  const ValueRef rows = c.add("flatten", {x}, axis_attribute(d));
  c.set(0, c.add("reshape", {c.add(op, {rows}, axis_attribute(1)), c.add("shape", {x})}));
}
void softmax(OnnxCall& c) { along(c, "softmax"); }
void log_softmax(OnnxCall& c) { along(c, "log-softmax"); }
void hardmax(OnnxCall& c) { along(c, "hardmax"); }

void place(OnnxCall& c, const char* op) {
  c.set(0, c.add(op, {c.in(0)},
                 Attributes()
                     .set("axis", c.integer("axis", 0))
                     .set("keep", c.integer("keepdims", 1))
                     .set("last", c.integer("select_last_index", 0))));
}
void arg_max(OnnxCall& c) { place(c, "arg-max"); }
void arg_min(OnnxCall& c) { place(c, "arg-min"); }

void top(OnnxCall& c) {
  Attributes a;
  a.set("axis", c.integer("axis", -1)).set("largest", c.integer("largest", 1));
  std::vector<ValueRef> in{c.in(0)};
  if (!c.has(1))
    a.set("k", c.integer("k", 1));
  else if (const auto k = c.list(1, ""); k && k->size() == 1)
    a.set("k", k->front());
  else
    in.push_back(c.in(1));
  if (c.wants(0)) c.set(0, c.add("top-k", in, a));
  if (c.wants(1)) c.set(1, c.add("top-k-indices", in, a));
}

void cumulative_sum(OnnxCall& c) {
  Attributes a;
  a.set("exclusive", c.integer("exclusive", 0)).set("reverse", c.integer("reverse", 0));
  std::vector<ValueRef> in{c.in(0)};
  if (const auto axis = c.list(1, ""); axis && axis->size() == 1)
    a.set("axis", axis->front());
  else
    in.push_back(c.in(1));
  c.set(0, c.add("cum-sum", std::move(in), std::move(a)));
}

// -weight[target] * x[target] per target, or their mean or sum.
Attributes loss_attributes(OnnxCall& c) {
  Attributes a;
  a.set("reduction", c.word("reduction", "mean"));
  if (c.has_attribute("ignore_index")) a.set("ignore", c.integer("ignore_index", 0));
  return a;
}
void likelihood(OnnxCall& c) {
  std::vector<ValueRef> in{c.in(0), c.in(1)};
  if (c.has(2)) in.push_back(c.in(2));
  c.set(0, c.add("nll-loss", std::move(in), loss_attributes(c)));
}
void cross_entropy(OnnxCall& c) {
  const ValueRef logs = c.add("log-softmax", {c.in(0)}, Attributes().set("axis", 1));
  std::vector<ValueRef> in{logs, c.in(1)};
  if (c.has(2)) in.push_back(c.in(2));
  c.set(0, c.add("nll-loss", std::move(in), loss_attributes(c)));
  if (c.wants(1)) c.set(1, logs);
}

}  // namespace

void add_reduction_translators(OnnxTranslators& all) {
  const OnnxTranslators these{{"ReduceSum", sum},
                              {"ReduceMean", mean},
                              {"ReduceMax", most},
                              {"ReduceMin", least},
                              {"ReduceProd", product},
                              {"ReduceL1", l1},
                              {"ReduceL2", l2},
                              {"ReduceSumSquare", squares},
                              {"ReduceLogSum", log_sum},
                              {"ReduceLogSumExp", log_sum_exp},
                              {"Softmax", softmax},
                              {"LogSoftmax", log_softmax},
                              {"Hardmax", hardmax},
                              {"ArgMax", arg_max},
                              {"ArgMin", arg_min},
                              {"TopK", top},
                              {"CumSum", cumulative_sum},
                              {"NegativeLogLikelihoodLoss", likelihood},
                              {"SoftmaxCrossEntropyLoss", cross_entropy}};
  all.insert(these.begin(), these.end());
}

}  // namespace sten
