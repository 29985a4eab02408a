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

// x[..., K], or x[..., heads, D], as rows [N, K], times w, and the rows as [..., M] again.
void join_rows(Draft& draft, DraftRef out, const std::vector<Index>& uses) {
  const DraftStep* last = draft.step_of(out, "reshape");
  const DraftStep* linear = last ? draft.step_of(last->in[0], "linear") : nullptr;
  const DraftStep* first = linear ? draft.step_of(linear->in[0], "reshape") : nullptr;
  if (!first) return;
  const auto &x = draft[first->in[0]].shape, &rows = draft[linear->in[0]].shape,
             &m = draft[linear->out].shape, &y = draft[out].shape;
  if (!x || !rows || !m || !y || rows->size() != 2 || x->size() < y->size()) return;
  if (y->empty() || y->back() != m->back()) return;
  const auto lead = static_cast<std::ptrdiff_t>(y->size()) - 1;
  const ExtentList rest(x->begin() + lead, x->end());
  if (!std::equal(x->begin(), x->begin() + lead, y->begin())) return;
  if (draft.extents.product(rest) != rows->back() || !rows->back().is_known()) return;
  std::vector<DraftRef> in = linear->in;
  if (rest.size() == 1) {
    in[0] = first->in[0];
  } else {
    if (uses[in[0]] != 1) return;
    Attributes::List to(y->size(), 0);
    to.back() = rows->back().number;
    ExtentList joined(x->begin(), x->begin() + lead);
    joined.push_back(rows->back());
    draft.change(in[0]).in.resize(1);
    draft.change(in[0]).attributes = Attributes().set("shape", to).set("copy-zeros", 1);
    draft[in[0]].shape = std::move(joined);
  }
  draft.change(out).op = "linear";
  draft.change(out).attributes = {};
  draft.change(out).in = std::move(in);
}

}  // namespace

Index fuse_linear(Draft& draft) {
  const std::vector<Index> uses = uses_of(draft);
  std::vector<Index> products(draft.size());
  for (const DraftStep& s : draft.steps())
    if (s.op.text() == "matmul" && uses[s.out] > 0) ++products[s.in[1]];
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
  for (std::size_t i = 0; i < draft.steps().size(); ++i)
    join_rows(draft, draft.steps()[i].out, uses);
  return count_needed(draft, "linear");
}

}  // namespace sten
