// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/bert.h"

#include "libsten/model/graph/dropout.h"
#include "libsten/model/nn/language_model.h"

namespace sten {
namespace {

class Builder {
 public:
  Builder(const BertConfig& config, const BertParts& parts) : config_(config), with_(parts) {
    g_.inputs = {"input_ids", "position_ids", "token_type_ids"};
    if (parts.mask) g_.inputs.emplace_back("attention_mask");
    if (parts.selected) g_.inputs.emplace_back("selected");
    if (parts.loss) g_.inputs.emplace_back("labels");
  }

  Graph build() {
    std::string x = embeddings("bert.embeddings");
    const Index layers = config_.num_hidden_layers;
    if (layers == 0) x = needed(x, "bert.embeddings");
    for (Index i = 0; i < layers; ++i)
      x = layer(x, "bert.encoder.layer." + std::to_string(i), i == layers - 1);
    if (layers > 0 && with_.all_states) x = needed(x, x);
    if (with_.head == BertHead::none)
      add_states(x);
    else if (with_.head == BertHead::words)
      add_logits(g_, words(x, "cls.predictions"), config_.vocab_size, with_.loss);
    else
      add_logits(g_, classes(x), with_.classes, with_.loss);
    add_aliases();
    return Graph(std::move(g_));
  }

 private:
  std::string embeddings(const std::string& name) {
    const std::string words = embedding(name + ".word_embeddings", config_.vocab_size, "input_ids");
    if (with_.head == BertHead::words && config_.ties_embeddings)
      g_.weights.back().aliases = {"cls.predictions.decoder.weight"};
    const std::string types =
        embedding(name + ".token_type_embeddings", config_.type_vocab_size, "token_type_ids");
    const std::string position_embeddings =
        embedding(name + ".position_embeddings", config_.max_position_embeddings, "position_ids");
    const std::string sum = add_node(g_, name + ".add_token_types", "add", {words, types});
    return dropped(name, norm(name + ".LayerNorm", add_node(g_, name + ".add_positions", "add",
                                                            {sum, position_embeddings})));
  }
  // The part after the last attention is computed only at positions that need logits, unless all
  // states are needed.
  std::string layer(std::string x, const std::string& name, bool is_last) {
    const std::string self = name + ".attention.self";
    const Index n = config_.hidden_size;
    std::vector<std::string> qkv;
    for (const char* part : {".query", ".key", ".value"})
      qkv.push_back(linear(self + part, n, n, x));
    if (with_.mask) qkv.emplace_back("attention_mask");
    std::string context = add_node(g_, self, "attention", std::move(qkv),
                                   Attributes().set("heads", config_.num_attention_heads));
    if (is_last && !with_.all_states) {
      context = needed(context, self);
      x = needed(x, name);
    }
    const std::string attended = output(name + ".attention.output", n, context, x);
    const std::string up =
        linear(name + ".intermediate.dense", n, config_.intermediate_size, attended);
    const std::string active =
        add_node(g_, name + ".intermediate.intermediate_act_fn", config_.activation, {up});
    return output(name + ".output", config_.intermediate_size, active, attended);
  }
  // Computes LayerNorm(x + dense(from)).
  std::string output(const std::string& name, Index inputs, const std::string& from,
                     const std::string& x) {
    const std::string y = dropped(name, linear(name + ".dense", inputs, config_.hidden_size, from));
    return norm(name + ".LayerNorm", add_node(g_, name + ".add", "add", {y, x}));
  }
  std::string dropped(const std::string& name, const std::string& x) {
    return with_.dropout > 0 ? add_dropout(g_, name + ".dropout", x, with_.dropout) : x;
  }
  // The first position of x [B, T, hidden], [B, hidden].
  std::string first_position(const std::string& x, const std::string& name) {
    const std::string first =
        add_node(g_, name + ".first", "slice", {x}, Attributes().set("axis", 1).set("end", 1));
    return add_node(g_, name + ".first.rows", "reshape", {first},
                    Attributes().set("shape", Attributes::List{-1, config_.hidden_size}));
  }
  // The positions of x [B, T, hidden] that need logits, [N, hidden]; x if all do.
  std::string needed(const std::string& x, const std::string& name) {
    if (with_.head == BertHead::sequence) return first_position(x, name);
    if (!with_.selected) return x;
    const std::string rows =
        add_node(g_, name + ".rows", "reshape", {x},
                 Attributes().set("shape", Attributes::List{-1, config_.hidden_size}));
    return add_node(g_, name + ".selected", "embedding", {rows, "selected"});
  }
  std::string words(std::string x, const std::string& name) {
    const Index n = config_.hidden_size;
    const std::string transform = name + ".transform";
    x = linear(transform + ".dense", n, n, x);
    x = add_node(g_, transform + ".transform_act_fn", config_.activation, {x});
    x = norm(transform + ".LayerNorm", x);
    const std::string bias = add_weight(g_, name + ".bias", {config_.vocab_size}, Spec("zeros"));
    g_.weights.back().aliases = {name + ".decoder.bias"};
    const std::string weight =
        config_.ties_embeddings ? "bert.embeddings.word_embeddings.weight"
                                : add_weight(g_, name + ".decoder.weight", {config_.vocab_size, n},
                                             normal_init(config_.initializer_range));
    return add_node(g_, name + ".decoder", "linear", {x, weight, bias});
  }
  std::string classes(std::string x) {
    const Index n = config_.hidden_size;
    if (with_.head == BertHead::sequence) x = pooled(x, "bert.pooler.activation");
    return linear("classifier", n, with_.classes, dropped("classifier", x));
  }

  // The pooler's output of x [B, hidden], under this name.
  std::string pooled(const std::string& x, const std::string& name) {
    const Index n = config_.hidden_size;
    return add_node(g_, name, "tanh", {linear("bert.pooler.dense", n, n, x)});
  }
  // The outputs without a head: the last value, x, and the pooler's.
  void add_states(const std::string& x) {
    g_.nodes.back().name = "last_hidden_state";
    g_.outputs = {g_.nodes.back().name};
    if (with_.pooler)
      g_.outputs.push_back(pooled(first_position(g_.outputs.front(), x), "pooler_output"));
  }
  // Files of a BertModel lack the first part of names.
  void add_aliases() {
    constexpr std::string_view begin = "bert.";
    for (Weight& w : g_.weights)
      if (w.name.starts_with(begin)) w.aliases.push_back(w.name.substr(begin.size()));
  }

  std::string linear(const std::string& name, Index inputs, Index outputs, const std::string& x) {
    return add_linear(g_, name, {outputs, inputs}, normal_init(config_.initializer_range), x);
  }
  std::string embedding(const std::string& name, Index rows, const std::string& ids) {
    return add_embedding(g_, name, {rows, config_.hidden_size},
                         normal_init(config_.initializer_range), ids);
  }
  std::string norm(const std::string& name, const std::string& x) {
    return add_layer_norm(g_, name, x, config_.hidden_size, config_.layer_norm_eps);
  }

  const BertConfig& config_;
  const BertParts& with_;
  GraphParts g_;
};

}  // namespace

Graph bert(const BertConfig& config, const BertParts& parts) {
  return Builder(config, parts).build();
}

NamedValues<Tensor> bert_inputs(const Tensor& ids) {
  return {{"input_ids", ids},
          {"position_ids", position_ids(ids, 0)},
          {"token_type_ids", Dense::zeros(DType::I64, {1, 1})}};
}

std::vector<std::string> bert_unused(BertHead head) {
  std::vector<std::string> globs{"bert.embeddings.position_ids", "embeddings.position_ids"};
  globs.emplace_back(head == BertHead::words ? "cls.seq_relationship.*" : "cls.*");
  if (head != BertHead::sequence) globs.insert(globs.end(), {"bert.pooler.*", "pooler.*"});
  return globs;
}

std::vector<std::string> bert_new(BertHead head) {
  if (head == BertHead::words || head == BertHead::none) return {};
  if (head == BertHead::tokens) return {"classifier.*"};
  return {"classifier.*", "bert.pooler.*"};
}

}  // namespace sten
