#include <algorithm>

#include "libsten/onnx/fuse.h"

namespace sten {
namespace {

// Values that are computed element by element of masks that are repeated over queries, and that
// nothing but attentions takes.
class RepeatedBias {
 public:
  explicit RepeatedBias(const Draft& draft) : draft_(draft) {}

  // Whether the value is one, or can be one of them.
  bool add(DraftRef v) {
    if (std::ranges::count(values_, v) > 0) return true;
    const DraftStep* s = draft_.step_of(v);
    if (!s || !is_elementwise(s->op.text()) || !has_axes(v)) return false;
    values_.push_back(v);
    for (const DraftRef r : s->in) {
      ++uses_[r];
      if (is_one_number(r)) continue;
      if (repeats(r))
        is_repeated_ = true;
      else if (!add(r))
        return false;
    }
    return true;
  }
  bool is_taken_by_attentions_alone(const std::vector<Index>& uses, DraftRef bias, Index times) {
    uses_[bias] += times;
    return is_repeated_ &&
           std::ranges::all_of(values_, [&](DraftRef v) { return uses_[v] == uses[v]; });
  }
  void unrepeat(Draft& draft) const {
    for (const DraftRef v : values_) {
      for (DraftRef& r : draft.change(v).in)
        if (repeats(r)) r = draft.step_of(r)->in[0];
      (*draft[v].shape)[2] = known(1);
    }
  }

 private:
  bool has_axes(DraftRef v) const { return draft_[v].shape && draft_[v].shape->size() == 4; }
  bool is_one_number(DraftRef v) const {
    const auto& x = draft_[v].constant;
    return x && x->size() == 1 && x->extents.size() <= 1;
  }
  // [B, H, T, K] of [B, H, 1, K].
  bool repeats(DraftRef v) const {
    const DraftStep* s = draft_.step_of(v, "expand");
    if (!s || !has_axes(v) || !has_axes(s->in[0])) return false;
    const ExtentList &from = *draft_[s->in[0]].shape, &to = *draft_[v].shape;
    return from[2].is(1) && from[0] == to[0] && from[1] == to[1] && from[3] == to[3];
  }

  const Draft& draft_;
  std::vector<DraftRef> values_;
  std::map<DraftRef, Index> uses_;
  bool is_repeated_ = false;
};

}  // namespace

void unrepeat_biases(Draft& draft) {
  const std::vector<Index> uses = uses_of(draft);
  std::map<DraftRef, Index> biases;  // and how many attentions take them
  for (const DraftStep& s : draft.steps())
    if (s.op.text() == "attention" && s.in.size() == 4 && uses[s.out] > 0) ++biases[s.in[3]];
  for (const auto& [bias, times] : biases) {
    RepeatedBias all(draft);
    if (all.add(bias) && all.is_taken_by_attentions_alone(uses, bias, times)) all.unrepeat(draft);
  }
}

}  // namespace sten
