// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/gpt.h"

#include <cmath>

#include "libsten/model/graph/dropout.h"
#include "libsten/model/nn/language_model.h"

namespace sten {
namespace {

constexpr const char* files_prefix = "transformer.";

class GptBuilder {
 public:
  GptBuilder(const GptConfig& config, const GptParts& parts) : config_(config), with_(parts) {
    g_.inputs = {"input_ids", "position_ids"};
    if (parts.mask) g_.inputs.emplace_back("attention_mask");
    if (parts.loss) g_.inputs.emplace_back("labels");
  }

  Graph build() {
    const std::string tokens = embedding("transformer.wte", config_.vocab_size, "input_ids");
    if (config_.ties_embeddings) g_.weights.back().aliases.emplace_back("lm_head.weight");
    const std::string position_embeddings =
        embedding("transformer.wpe", config_.n_positions, "position_ids");
    std::string x = dropped("transformer.drop", add_node(g_, "transformer.embeddings", "add",
                                                         {tokens, position_embeddings}));
    for (Index i = 0; i < config_.n_layer; ++i)
      x = block(x, fmt::format("transformer.h.{}", i), with_.last && i + 1 == config_.n_layer);
    head(norm("transformer.ln_f", x));
    for (Weight& w : g_.weights)
      if (w.name.starts_with(files_prefix))
        w.aliases.insert(w.aliases.begin(), w.name.substr(std::string_view(files_prefix).size()));
    return Graph(std::move(g_));
  }

 private:
  // With takes_last, all that follows the attention is of the last token.
  std::string block(std::string x, const std::string& name, bool takes_last) {
    const Index n = config_.n_embd;
    const std::string self = name + ".attn";
    const double residual =
        config_.initializer_range / std::sqrt(2 * static_cast<double>(config_.n_layer));
    const std::string all =
        linear(self + ".c_attn", n, 3 * n, norm(name + ".ln_1", x), config_.initializer_range);
    std::vector<std::string> qkv;
    for (const char* part : {".query", ".key", ".value"})
      qkv.push_back(add_slice(g_, self + ".c_attn" + part, all, std::ssize(qkv) * n, n));
    if (with_.mask) qkv.emplace_back("attention_mask");
    std::string context = add_node(g_, self, "attention", std::move(qkv),
                                   Attributes().set("heads", config_.n_head).set("causal", 1));
    if (takes_last) {
      context = add_last_token(g_, self + ".last", context);
      x = add_last_token(g_, name + ".last", x);
    }
    const std::string attended = add_node(
        g_, self + ".add", "add",
        {dropped(self + ".resid_dropout", linear(self + ".c_proj", n, n, context, residual)), x});
    const std::string mlp = name + ".mlp";
    const std::string up = linear(mlp + ".c_fc", n, config_.n_inner, norm(name + ".ln_2", attended),
                                  config_.initializer_range);
    const std::string active = add_node(g_, mlp + ".act", config_.activation, {up});
    return add_node(
        g_, mlp + ".add", "add",
        {dropped(mlp + ".dropout", linear(mlp + ".c_proj", config_.n_inner, n, active, residual)),
         attended});
  }
  std::string dropped(const std::string& name, const std::string& x) {
    return with_.dropout > 0 ? add_dropout(g_, name, x, with_.dropout) : x;
  }
  void head(const std::string& x) {
    const std::string weight =
        config_.ties_embeddings
            ? "transformer.wte.weight"
            : add_weight(g_, "lm_head.weight", {config_.vocab_size, config_.n_embd},
                         normal_init(config_.initializer_range));
    const std::string logits = add_node(g_, "lm_head", "linear", {x, weight});
    add_logits(g_, logits, config_.vocab_size, with_.loss);
  }

  std::string linear(const std::string& name, Index inputs, Index outputs, const std::string& x,
                     double deviation) {
    const std::string y = add_linear(g_, name, {outputs, inputs}, normal_init(deviation), x);
    g_.weights.end()[-2].in_by_out = true;
    return y;
  }
  std::string embedding(const std::string& name, Index rows, const std::string& ids) {
    return add_embedding(g_, name, {rows, config_.n_embd}, normal_init(config_.initializer_range),
                         ids);
  }
  std::string norm(const std::string& name, const std::string& x) {
    return add_layer_norm(g_, name, x, config_.n_embd, config_.layer_norm_epsilon);
  }

  const GptConfig& config_;
  const GptParts& with_;
  GraphParts g_;
};

}  // namespace

Graph gpt(const GptConfig& config, const GptParts& parts) {
  return GptBuilder(config, parts).build();
}

NamedValues<Tensor> gpt_inputs(const Tensor& ids, Index first) {
  return {{"input_ids", ids}, {"position_ids", position_ids(ids, first)}};
}

const std::vector<std::string>& gpt_unused() {
  static const std::vector<std::string> globs{"*h.*.attn.bias", "*h.*.attn.masked_bias"};
  return globs;
}

}  // namespace sten
