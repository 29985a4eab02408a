// Products with weights, and their biases.
#include <algorithm>

#include "libsten/onnx/fuse.h"

namespace sten {
namespace {

bool is_matrix(const DraftValue& v) { return v.is_weight && v.shape->size() == 2; }

// Whether w is the right factor of every step that takes it.
bool is_only_multiplied(const Draft& draft, DraftRef w, const std::vector<Index>& uses,
                        const std::vector<Index>& products) {
  return is_matrix(draft[w]) && uses[w] == products[w];
}

// The step that exchanges the axes of a matrix.
const DraftStep* turned(const Draft& draft, DraftRef v) {
  const DraftStep* s = draft.step_of(v, "transpose");
  return s && s->attributes.list("axes", {1, 0}) == Attributes::List{1, 0} ? s : nullptr;
}

}  // namespace

Index fuse_linear(Draft& draft) {
  const std::vector<Index> uses = uses_of(draft);
  std::vector<Index> products(draft.size());
  for (const DraftStep& s : draft.steps())
    if (s.op.text() == "matmul") ++products[s.in[1]];
  for (std::size_t i = 0; i < draft.steps().size(); ++i) {
    const DraftRef out = draft.steps()[i].out;
    if (draft.step_of(out, "matmul")) {
      const DraftRef w = draft.step_of(out)->in[1];
      if (const DraftStep* t = turned(draft, w); t && is_matrix(draft[t->in[0]])) {
        const DraftRef whole = t->in[0];
        draft.change(out).op = "linear";
        draft.change(out).in[1] = whole;
      } else if (is_only_multiplied(draft, w, uses, products)) {
        draft.change(out).op = "linear";
        if (!draft[w].in_by_out) std::ranges::reverse(*draft[w].shape);
        draft[w].in_by_out = true;
      }
    }
    // The bias, of one axis.
    if (const DraftStep* add = draft.step_of(out, "add")) {
      for (const std::size_t k : {0, 1}) {
        const DraftRef product = add->in[k], bias = add->in[1 - k];
        const DraftStep* linear = draft.step_of(product, "linear");
        if (!linear || linear->in.size() != 2 || uses[product] != 1) continue;
        const auto &b = draft[bias].shape, &w = draft[linear->in[1]].shape;
        if (!b || !w || b->size() != 1 || w->size() != 2 || b->front() != w->front()) continue;
        const std::vector<DraftRef> in{linear->in[0], linear->in[1], bias};
        draft.change(out).op = "linear";
        draft.change(out).in = in;
        break;
      }
    }
  }
  return count_needed(draft, "linear");
}

}  // namespace sten
