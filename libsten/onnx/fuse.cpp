#include "libsten/onnx/fuse.h"

#include <algorithm>

namespace sten {

std::vector<Index> uses_of(const Draft& draft) {
  std::vector<Index> uses(draft.size());
  for (const Draft::Output& o : draft.outputs()) ++uses[o.value];
  std::vector<DraftRef> open;
  std::vector<bool> seen(draft.size());
  const auto visit = [&](DraftRef v) {
    if (!seen[v]) open.push_back(v);
    seen[v] = true;
  };
  for (const Draft::Output& o : draft.outputs()) visit(o.value);
  while (!open.empty()) {
    const DraftStep* s = draft.step_of(open.back());
    open.pop_back();
    if (!s) continue;
    for (const DraftRef r : s->in) {
      ++uses[r];
      visit(r);
    }
  }
  return uses;
}

Index count_needed(const Draft& draft, std::string_view op) {
  const std::vector<Index> uses = uses_of(draft);
  return std::ranges::count_if(
      draft.steps(), [&](const DraftStep& s) { return s.op.text() == op && uses[s.out] > 0; });
}

std::map<std::string, Index> fuse(Draft& draft) {
  std::map<std::string, Index> counts;
  if (const Index n = fuse_linear(draft)) counts["linear"] = n;
  return counts;
}

}  // namespace sten
