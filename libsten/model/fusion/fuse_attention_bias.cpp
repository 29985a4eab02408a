// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libsten/model/fusion/fuse.h"

namespace sten {
namespace {

// Values that are computed elementwise from masks repeated over queries, and are used by attentions
// only.
class RepeatedBias {
 public:
  explicit RepeatedBias(const GraphBuilder& builder) : builder_(builder) {}

  // Whether the value belongs to this set, or can be added.
  bool add(ValueRef v) {
    if (std::ranges::count(values_, v) > 0) return true;
    const BuilderNode* s = builder_.node_of(v);
    if (!s || s->has_formats() || !is_elementwise(s->op.text()) || !has_axes(v)) return false;
    values_.push_back(v);
    for (const ValueRef r : s->in) {
      ++uses_[r];
      if (is_scalar(r)) continue;
      if (repeats(r))
        is_repeated_ = true;
      else if (!add(r))
        return false;
    }
    return true;
  }
  bool is_taken_by_attentions_alone(const std::vector<Index>& uses, ValueRef bias, Index times) {
    uses_[bias] += times;
    return is_repeated_ &&
           std::ranges::all_of(values_, [&](ValueRef v) { return uses_[v] == uses[v]; });
  }
  void unrepeat(GraphBuilder& builder) const {
    for (const ValueRef v : values_) {
      for (ValueRef& r : builder.change(v).in)
        if (repeats(r)) r = builder.node_of(r)->in[0];
      (*builder[v].shape)[2] = known(1);
    }
  }

 private:
  bool has_axes(ValueRef v) const { return builder_[v].shape && builder_[v].shape->size() == 4; }
  bool is_scalar(ValueRef v) const {
    const auto& x = builder_[v].constant;
    return x && x->size() == 1 && x->extents.size() <= 1;
  }
  // Whether v is [B, H, T, K] repeated from [B, H, 1, K].
  bool repeats(ValueRef v) const {
    const BuilderNode* s = builder_.node_of(v, "expand");
    if (!s || !has_axes(v) || !has_axes(s->in[0])) return false;
    const ExtentList &from = *builder_[s->in[0]].shape, &to = *builder_[v].shape;
    return from[2].is(1) && from[0] == to[0] && from[1] == to[1] && from[3] == to[3];
  }

  const GraphBuilder& builder_;
  std::vector<ValueRef> values_;
  std::map<ValueRef, Index> uses_;
  bool is_repeated_ = false;
};

}  // namespace

void unrepeat_biases(GraphBuilder& builder) {
  const std::vector<Index> uses = builder.uses();
  std::map<ValueRef, Index> biases;  // biases, and how many attentions use them
  for (const BuilderNode& s : builder.steps())
    if (s.is("attention") && s.in.size() == 4 && uses[s.out] > 0) ++biases[s.in[3]];
  for (const auto& [bias, times] : biases) {
    RepeatedBias all(builder);
    if (all.add(bias) && all.is_taken_by_attentions_alone(uses, bias, times)) all.unrepeat(builder);
  }
}

}  // namespace sten
