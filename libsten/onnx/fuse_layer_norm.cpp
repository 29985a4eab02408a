#include "libsten/onnx/fuse.h"

namespace sten {
namespace {

// x of its mean over the last axis.
std::optional<DraftRef> mean_of(const Draft& draft, DraftRef v) {
  const DraftStep* s = draft.step_of(v, "mean");
  if (!s || s->in.size() != 1 || s->attributes.integer("keep", 0) == 0) return {};
  const auto& shape = draft[s->in[0]].shape;
  const Attributes::List axes = s->attributes.list("axes", {});
  if (axes.size() != 1) return {};
  const bool is_last = axes[0] == -1 || (shape && axes[0] == std::ssize(*shape) - 1);
  return is_last ? std::optional(s->in[0]) : std::nullopt;
}

// x of x - mean(x).
std::optional<DraftRef> centered(const Draft& draft, DraftRef v) {
  const DraftStep* s = draft.step_of(v, "sub");
  return s && mean_of(draft, s->in[1]) == s->in[0] ? std::optional(s->in[0]) : std::nullopt;
}

struct Normalised {
  DraftRef x;
  double eps;
};

// Of sqrt(mean(centered(x)^2) + eps).
std::optional<Normalised> deviation(const Draft& draft, DraftRef v) {
  const DraftStep* root = draft.step_of(v, "sqrt");
  const DraftStep* sum = root ? draft.step_of(root->in[0], "add") : nullptr;
  if (!sum) return {};
  for (const std::size_t i : {0, 1}) {
    const auto eps = number_in(draft, sum->in[i]);
    const auto squares = eps ? mean_of(draft, sum->in[1 - i]) : std::nullopt;
    const auto from = squares ? square_root(draft, *squares) : std::nullopt;
    const auto x = from ? centered(draft, *from) : std::nullopt;
    if (x) return Normalised{*x, *eps};
  }
  return {};
}

std::optional<Normalised> normalised(const Draft& draft, DraftRef v) {
  const DraftStep* s = draft.step_of(v, "div");
  const auto below = s ? deviation(draft, s->in[1]) : std::nullopt;
  return below && centered(draft, s->in[0]) == below->x ? below : std::nullopt;
}

}  // namespace

Index fuse_layer_norm(Draft& draft) {
  for (std::size_t i = 0; i < draft.steps().size(); ++i) {
    const DraftStep& add = draft.steps()[i];
    if (add.op.text() != "add") continue;
    for (const std::size_t k : {0, 1}) {
      const DraftStep* product = draft.step_of(add.in[k], "mul");
      if (!product) continue;
      std::optional<Normalised> of;
      const auto gamma = beside(*product, [&](DraftRef v) {
        of = normalised(draft, v);
        return of.has_value();
      });
      if (!gamma) continue;
      const DraftRef beta = add.in[1 - k];
      const auto &x = draft[of->x].shape, &g = draft[*gamma].shape, &b = draft[beta].shape;
      if (!x || !g || g->size() != 1 || g != b || x->back() != g->front()) continue;
      DraftStep& norm = draft.change(add.out);
      norm.op = "layer-norm";
      norm.in = {of->x, *gamma, beta};
      norm.attributes = Attributes().set("eps", of->eps);
      break;
    }
  }
  return count_needed(draft, "layer-norm");
}

}  // namespace sten
