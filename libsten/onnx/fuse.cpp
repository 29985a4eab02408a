#include "libsten/onnx/fuse.h"

#include <algorithm>
#include <cmath>

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

std::optional<double> number_in(const Draft& draft, DraftRef v) {
  const auto& x = draft[v].constant;
  if (!x || x->size() != 1 || x->extents.size() > 1) return {};  // more axes would be the result's
  if (x->dtype() == DType::F32) return x->values.as<float>()[0];
  if (x->dtype() == DType::F64) return x->values.as<double>()[0];
  return {};
}

bool is_about(std::optional<double> a, double b) {
  return a && std::abs(*a - b) <= 1e-6 * std::abs(b);
}

Scaled unscaled(const Draft& draft, DraftRef v) {
  if (const DraftStep* s = draft.step_of(v, "scale"))
    return {s->in[0], s->attributes.number("by", 1)};
  if (const DraftStep* s = draft.step_of(v, "div"))
    if (const auto by = number_in(draft, s->in[1]); by && *by != 0) return {s->in[0], 1 / *by};
  if (const DraftStep* s = draft.step_of(v, "mul"))
    for (const std::size_t i : {0, 1})
      if (const auto by = number_in(draft, s->in[i])) return {s->in[1 - i], *by};
  return {v, 1};
}

std::optional<DraftRef> square_root(const Draft& draft, DraftRef v) {
  if (const DraftStep* s = draft.step_of(v, "mul"); s && s->in[0] == s->in[1]) return s->in[0];
  if (const DraftStep* s = draft.step_of(v, "pow"))
    if (is_about(number_in(draft, s->in[1]), 2)) return s->in[0];
  return {};
}

std::map<std::string, Index> fuse(Draft& draft, bool for_inference) {
  std::map<std::string, Index> counts;
  const auto count = [&](const char* name, Index n) {
    if (n > 0) counts[name] = n;
  };
  count("layer-norm", fuse_layer_norm(draft));
  count("gelu", fuse_gelu(draft));
  count("gelu-tanh", fuse_gelu_tanh(draft));
  count("linear", fuse_linear(draft));
  count("attention", fuse_attention(draft));
  keep_channels_last(draft);
  count("batch-norm-relu", fuse_batch_norm_relu(draft));
  if (for_inference) count("conv-relu", fuse_conv_relu(draft));
  return counts;
}

}  // namespace sten
