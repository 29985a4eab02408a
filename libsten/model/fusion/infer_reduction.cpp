// SPDX-License-Identifier: Apache-2.0
// Shape inference of reductions, and of operators along an axis.
#include "libsten/model/fusion/infer.h"

namespace sten {
namespace {

void reduce(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const auto axes = i.list(1, "axes");
  if (!axes || !i.in(0).shape) return;
  const ExtentList& x = i.shape(0);
  const bool keep = i.node.attributes.integer("keep", 0) != 0,
             noop = i.node.attributes.integer("noop", 0) != 0;
  std::vector<bool> gone(x.size(), axes->empty() && !noop);
  for (const Index a : *axes) gone[i.axis(a, x.size())] = true;
  ExtentList out;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!gone[d])
      out.push_back(x[d]);
    else if (keep)
      out.push_back(known(1));
  }
  i.out.shape = std::move(out);
}
void place(Inference& i) {
  i.out.dtype = DType::I64;
  if (!i.in(0).shape) return;
  ExtentList out = i.shape(0);
  const auto at = i.axis(out.size(), "axis", 0);
  if (i.node.attributes.integer("keep", 0))
    out[at] = known(1);
  else
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(at));
  i.out.shape = std::move(out);
}
void top(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape) return;
  ExtentList out = i.shape(0);
  Extent& e = out[i.axis(out.size(), "axis", -1)];
  // The importer makes a constant k an attribute.
  e = i.inputs() < 2 ? known(i.node.attributes.integer("k", 1)) : i.builder.extents.fresh();
  i.out.shape = std::move(out);
}
void infer_top_k(Inference& i) {
  top(i);
  i.out.dtype = DType::I64;
}

}  // namespace

void add_reduction_rules(InferRules& all) {
  for (const char* op : {"sum", "mean", "reduce-max", "reduce-min", "reduce-prod", "reduce-l1",
                         "reduce-l2", "reduce-sum-square", "reduce-log-sum", "reduce-log-sum-exp"})
    all[op] = reduce;
  for (const char* op : {"softmax", "log-softmax", "hardmax", "layer-norm", "rms-norm", "cum-sum"})
    all[op] = infer_same;
  all["arg-max"] = all["arg-min"] = place;
  all["top-k"] = top;
  all["top-k-indices"] = infer_top_k;
}

}  // namespace sten
