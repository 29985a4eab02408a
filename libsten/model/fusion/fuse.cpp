// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/fusion/fuse.h"

#include <algorithm>
#include <cmath>

namespace sten {

Index count_needed(const GraphBuilder& builder, std::string_view op) {
  const std::vector<Index> uses = builder.uses();
  return std::ranges::count_if(
      builder.steps(), [&](const BuilderNode& s) { return s.op.text() == op && uses[s.out] > 0; });
}

std::optional<double> scalar_in(const GraphBuilder& builder, ValueRef v) {
  const auto& x = builder[v].constant;
  if (!x || x->size() != 1 || x->extents.size() > 1) return {};  // more axes would be the result's
  if (x->dtype() == DType::F32) return x->values.as<float>()[0];
  if (x->dtype() == DType::F64) return x->values.as<double>()[0];
  return {};
}

bool is_about(std::optional<double> a, double b) {
  return a && std::abs(*a - b) <= 1e-6 * std::abs(b);
}

Scaled unscaled(const GraphBuilder& builder, ValueRef v) {
  if (const BuilderNode* s = builder.node_of(v, "scale"))
    return {s->in[0], s->attributes.number("by", 1)};
  if (const BuilderNode* s = builder.node_of(v, "div"))
    if (const auto by = scalar_in(builder, s->in[1]); by && *by != 0) return {s->in[0], 1 / *by};
  if (const BuilderNode* s = builder.node_of(v, "mul"))
    for (const std::size_t i : {0, 1})
      if (const auto by = scalar_in(builder, s->in[i])) return {s->in[1 - i], *by};
  return {v, 1};
}

std::optional<ValueRef> square_root(const GraphBuilder& builder, ValueRef v) {
  if (const BuilderNode* s = builder.node_of(v, "mul"); s && s->in[0] == s->in[1]) return s->in[0];
  if (const BuilderNode* s = builder.node_of(v, "pow"))
    if (is_about(scalar_in(builder, s->in[1]), 2)) return s->in[0];
  return {};
}

std::map<std::string, Index> fuse(GraphBuilder& builder, const FusionOptions& options) {
  std::map<std::string, Index> counts;
  const auto count = [&](const char* name, Index n) {
    if (n > 0) counts[name] = n;
  };
  count("layer-norm", fuse_layer_norm(builder));
  count("gelu", fuse_gelu(builder));
  count("gelu-tanh", fuse_gelu_tanh(builder));
  count("linear", fuse_linear(builder, options.changes_layouts));
  count("attention", fuse_attention(builder));
  cancel_movements(builder);
  if (options.changes_layouts) keep_channels_last(builder);
  count("batch-norm-relu", fuse_batch_norm_relu(builder));
  if (!options.has_gradients) count("conv-relu", fuse_conv_relu(builder));
  return counts;
}

}  // namespace sten
