// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/language_model.h"

#include <limits>
#include <numeric>

namespace sten {

std::string add_node(GraphParts& g, std::string name, Name op, std::vector<std::string> inputs,
                     Attributes attributes) {
  g.nodes.push_back({name, op, std::move(inputs), std::move(attributes)});
  return name;
}

std::string add_weight(GraphParts& g, std::string name, Shape shape, Spec init) {
  g.weights.push_back({name, std::move(shape), std::move(init)});
  return name;
}

Spec normal_init(double deviation) {
  return Spec("normal").set("std", fmt::format("{}", deviation));
}

std::string add_linear(GraphParts& g, const std::string& name, const Shape& shape, Spec init,
                       const std::string& x, bool has_bias) {
  const std::string w = add_weight(g, name + ".weight", shape, std::move(init));
  if (!has_bias) return add_node(g, name, "linear", {x, w});
  const std::string bias = add_weight(g, name + ".bias", {shape[0]}, Spec("zeros"));
  return add_node(g, name, "linear", {x, w, bias});
}

std::string add_embedding(GraphParts& g, const std::string& name, const Shape& shape, Spec init,
                          const std::string& ids) {
  return add_node(g, name, "embedding",
                  {add_weight(g, name + ".weight", shape, std::move(init)), ids});
}

std::string add_layer_norm(GraphParts& g, const std::string& name, const std::string& x,
                           Index width, double eps) {
  const std::string gamma = add_weight(g, name + ".weight", {width}, Spec("ones"));
  const std::string beta = add_weight(g, name + ".bias", {width}, Spec("zeros"));
  return add_node(g, name, "layer-norm", {x, gamma, beta}, Attributes().set("eps", eps));
}

std::string add_slice(GraphParts& g, const std::string& name, const std::string& x, Index begin,
                      Index size) {
  return add_node(g, name, "slice", {x},
                  Attributes().set("axis", -1).set("begin", begin).set("end", begin + size));
}

std::string add_last_token(GraphParts& g, const std::string& name, const std::string& x) {
  using List = Attributes::List;
  constexpr Index all = std::numeric_limits<Index>::max();
  return add_node(g, name, "slice", {x},
                  Attributes().set("begins", List{-1}).set("ends", List{all}).set("axes", List{1}));
}

void add_logits(GraphParts& g, const std::string& logits, Index classes, bool with_loss) {
  g.outputs = {logits};
  if (!with_loss) return;
  const auto flat = [&](const char* what, const std::string& of, Attributes::List shape) {
    return add_node(g, what, "reshape", {of}, Attributes().set("shape", std::move(shape)));
  };
  const std::string rows = flat("loss.logits", logits, {-1, classes});
  const std::string labels = flat("loss.labels", "labels", {-1});
  g.outputs.push_back(add_node(g, "loss", "cross-entropy", {rows, labels}));
}

Dense position_ids(const Tensor& ids, Index first) {
  const Shape shape = ids.shape();
  if (shape.size() != 2) fail_usage("ids must be [sequences, tokens], got {}", to_string(shape));
  Dense positions = Dense::zeros(DType::I64, {shape[1]});
  const std::span<std::int64_t> p = positions.values.mutate<std::int64_t>();
  std::iota(p.begin(), p.end(), std::int64_t{first});
  return positions;
}

}  // namespace sten
