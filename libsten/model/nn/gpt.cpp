#include "libsten/model/nn/gpt.h"

#include <cmath>
#include <numeric>

#include "libsten/model/graph/dropout.h"

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
    g_.weights.back().aliases.emplace_back("lm_head.weight");
    const std::string position_embeddings =
        embedding("transformer.wpe", config_.n_positions, "position_ids");
    std::string x = dropped("transformer.drop",
                            node("transformer.embeddings", "add", {tokens, position_embeddings}));
    for (Index i = 0; i < config_.n_layer; ++i) x = block(x, fmt::format("transformer.h.{}", i));
    if (with_.last) {
      using List = Attributes::List;
      constexpr Index all = std::numeric_limits<Index>::max();
      x = node("transformer.last", "slice", {x},
               Attributes().set("begins", List{-1}).set("ends", List{all}).set("axes", List{1}));
    }
    head(norm("transformer.ln_f", x));
    return Graph(std::move(g_));
  }

 private:
  std::string block(const std::string& x, const std::string& name) {
    const Index n = config_.n_embd;
    const std::string self = name + ".attn";
    const double residual =
        config_.initializer_range / std::sqrt(2 * static_cast<double>(config_.n_layer));
    const std::string all =
        linear(self + ".c_attn", n, 3 * n, norm(name + ".ln_1", x), config_.initializer_range);
    std::vector<std::string> qkv;
    for (const char* part : {".query", ".key", ".value"}) {
      const Index begin = std::ssize(qkv) * n;
      qkv.push_back(node(self + ".c_attn" + part, "slice", {all},
                         Attributes().set("axis", -1).set("begin", begin).set("end", begin + n)));
    }
    if (with_.mask) qkv.emplace_back("attention_mask");
    const std::string context = node(self, "attention", std::move(qkv),
                                     Attributes().set("heads", config_.n_head).set("causal", 1));
    const std::string attended = node(
        self + ".add", "add",
        {dropped(self + ".resid_dropout", linear(self + ".c_proj", n, n, context, residual)), x});
    const std::string mlp = name + ".mlp";
    const std::string up = linear(mlp + ".c_fc", n, config_.n_inner, norm(name + ".ln_2", attended),
                                  config_.initializer_range);
    const std::string active = node(mlp + ".act", activation(), {up});
    return node(
        mlp + ".add", "add",
        {dropped(mlp + ".dropout", linear(mlp + ".c_proj", config_.n_inner, n, active, residual)),
         attended});
  }
  std::string dropped(const std::string& name, const std::string& x) {
    return with_.dropout > 0 ? add_dropout(g_, name, x, with_.dropout) : x;
  }
  void head(const std::string& x) {
    const std::string logits = node("lm_head", "linear", {x, "transformer.wte.weight"});
    g_.outputs = {logits};
    if (!with_.loss) return;
    const auto flat = [&](const char* what, const std::string& of, Attributes::List shape) {
      return node(what, "reshape", {of}, Attributes().set("shape", std::move(shape)));
    };
    const std::string rows = flat("loss.logits", logits, {-1, config_.vocab_size});
    const std::string labels = flat("loss.labels", "labels", {-1});
    g_.outputs.push_back(node("loss", "cross-entropy", {rows, labels}));
  }
  std::string activation() const {
    const std::string& f = config_.activation_function;
    return f.starts_with("gelu_") ? "gelu-tanh" : f;
  }

  std::string node(std::string name, const std::string& op, std::vector<std::string> inputs,
                   Attributes attributes = {}) {
    g_.nodes.push_back({name, op, std::move(inputs), std::move(attributes)});
    return name;
  }
  std::string weight(const std::string& name, Shape shape, Spec init) {
    g_.weights.push_back({name, std::move(shape), std::move(init)});
    g_.weights.back().aliases = {name.substr(std::string_view(files_prefix).size())};
    return name;
  }
  std::string linear(const std::string& name, Index inputs, Index outputs, const std::string& x,
                     double deviation) {
    const std::string w = weight(name + ".weight", {outputs, inputs}, normal(deviation));
    g_.weights.back().in_by_out = true;
    return node(name, "linear", {x, w, weight(name + ".bias", {outputs}, Spec("zeros"))});
  }
  std::string embedding(const std::string& name, Index rows, const std::string& ids) {
    const Spec init = normal(config_.initializer_range);
    return node(name, "embedding", {weight(name + ".weight", {rows, config_.n_embd}, init), ids});
  }
  std::string norm(const std::string& name, const std::string& x) {
    const std::string gamma = weight(name + ".weight", {config_.n_embd}, Spec("ones"));
    const std::string beta = weight(name + ".bias", {config_.n_embd}, Spec("zeros"));
    return node(name, "layer-norm", {x, gamma, beta},
                Attributes().set("eps", config_.layer_norm_epsilon));
  }
  static Spec normal(double deviation) {
    Spec init("normal");
    init.set("std", fmt::format("{}", deviation));
    return init;
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
  const Shape shape = ids.shape();
  if (shape.size() != 2) fail_usage("ids must be [sequences, tokens], got {}", to_string(shape));
  Dense positions = Dense::zeros(DType::I64, {shape[1]});
  const std::span<std::int64_t> p = positions.values.mutate<std::int64_t>();
  std::iota(p.begin(), p.end(), std::int64_t{first});
  return {{"input_ids", ids}, {"position_ids", std::move(positions)}};
}

const std::vector<std::string>& gpt_unused() {
  static const std::vector<std::string> globs{"*h.*.attn.bias", "*h.*.attn.masked_bias"};
  return globs;
}

}  // namespace sten
