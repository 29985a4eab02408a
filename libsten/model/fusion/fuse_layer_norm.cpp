// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/fusion/fuse.h"

namespace sten {
namespace {

// x, if the value is its mean over the last axis.
std::optional<ValueRef> mean_of(const GraphBuilder& builder, ValueRef v) {
  const BuilderNode* s = builder.node_of(v, "mean");
  if (!s || s->in.size() != 1 || s->attributes.integer("keep", 0) == 0) return {};
  const auto& shape = builder[s->in[0]].shape;
  const Attributes::List axes = s->attributes.list("axes", {});
  if (axes.size() != 1) return {};
  const bool is_last = axes[0] == -1 || (shape && axes[0] == std::ssize(*shape) - 1);
  return is_last ? std::optional(s->in[0]) : std::nullopt;
}

// x, if the value is x - mean(x).
std::optional<ValueRef> centered(const GraphBuilder& builder, ValueRef v) {
  const BuilderNode* s = builder.node_of(v, "sub");
  return s && mean_of(builder, s->in[1]) == s->in[0] ? std::optional(s->in[0]) : std::nullopt;
}

struct Normalised {
  ValueRef x;
  double eps;
};

// Matches sqrt(mean(centered(x)^2) + eps).
std::optional<Normalised> deviation(const GraphBuilder& builder, ValueRef v) {
  const BuilderNode* root = builder.node_of(v, "sqrt");
  const BuilderNode* sum = root ? builder.node_of(root->in[0], "add") : nullptr;
  if (!sum) return {};
  for (const std::size_t i : {0, 1}) {
    const auto eps = scalar_in(builder, sum->in[i]);
    const auto squares = eps ? mean_of(builder, sum->in[1 - i]) : std::nullopt;
    const auto from = squares ? square_root(builder, *squares) : std::nullopt;
    const auto x = from ? centered(builder, *from) : std::nullopt;
    if (x) return Normalised{*x, *eps};
  }
  return {};
}

std::optional<Normalised> normalised(const GraphBuilder& builder, ValueRef v) {
  const BuilderNode* s = builder.node_of(v, "div");
  const auto below = s ? deviation(builder, s->in[1]) : std::nullopt;
  return below && centered(builder, s->in[0]) == below->x ? below : std::nullopt;
}

}  // namespace

Index fuse_layer_norm(GraphBuilder& builder) {
  for (std::size_t i = 0; i < builder.steps().size(); ++i) {
    const BuilderNode& add = builder.steps()[i];
    if (!add.is("add")) continue;
    for (const std::size_t k : {0, 1}) {
      const BuilderNode* product = builder.node_of(add.in[k], "mul");
      if (!product) continue;
      std::optional<Normalised> of;
      const auto gamma = beside(*product, [&](ValueRef v) {
        of = normalised(builder, v);
        return of.has_value();
      });
      if (!gamma) continue;
      const ValueRef beta = add.in[1 - k];
      const auto &x = builder[of->x].shape, &g = builder[*gamma].shape, &b = builder[beta].shape;
      if (!x || !g || g->size() != 1 || g != b || x->back() != g->front()) continue;
      BuilderNode& norm = builder.change(add.out);
      norm.op = "layer-norm";
      norm.in = {of->x, *gamma, beta};
      norm.attributes = Attributes().set("eps", of->eps);
      break;
    }
  }
  return count_needed(builder, "layer-norm");
}

}  // namespace sten
