// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/decoder.h"

#include <cmath>

#include "libsten/model/nn/language_model.h"

namespace sten {
namespace {

std::string joined(std::string_view a, std::string_view b) {
  return a.empty() ? std::string(b) : b.empty() ? std::string(a) : fmt::format("{}.{}", a, b);
}

class DecoderBuilder {
 public:
  DecoderBuilder(const DecoderConfig& config, const DecoderParts& parts)
      : c_(config), a_(*config.architecture), with_(parts) {
    g_.inputs = {"input_ids", "position_ids"};
    if (parts.mask) g_.inputs.emplace_back("attention_mask");
    if (parts.loss) g_.inputs.emplace_back("labels");
    for (std::size_t i = 0; i < config.rotary.size(); ++i) {
      rotary_.push_back(
          rotary_frequencies(config.rotary[i], c_.head_width, c_.positions, parts.tokens));
      const std::vector<float>& f = rotary_.back().values;
      add_constant(frequencies(i), {std::ssize(f)}, f);
    }
  }

  Graph build() {
    std::string x = embeddings();
    for (std::size_t i = 0; i < c_.layers.size(); ++i)
      x = layer(x, fmt::format("{}.{}.{}", a_.base, a_.layers, i), c_.layers[i],
                with_.last && i + 1 == c_.layers.size());
    head(x);
    add_aliases();
    return Graph(std::move(g_));
  }

 private:
  std::string module(std::string_view name) const { return joined(a_.base, name); }
  std::string frequencies(std::size_t i) const {
    return module(i == 0 ? "rotary_emb.frequencies" : "rotary_emb.sliding_frequencies");
  }
  std::string add_constant(std::string name, Shape shape, std::span<const float> values) {
    Dense x = Dense::zeros(DType::F32, std::move(shape));
    std::ranges::copy(values, x.values.mutate<float>().begin());
    g_.constants.push_back({name, std::move(x)});
    return name;
  }

  std::string embeddings() {
    const Spec init = normal_init(c_.initializer_range);
    std::string x = add_embedding(g_, module(a_.embeddings), {c_.vocab_size, c_.embedding_size},
                                  init, "input_ids");
    embeddings_ = g_.weights.size() - 1;
    if (c_.ties_embeddings) g_.weights.back().aliases.emplace_back(joined(a_.head, "weight"));
    if (c_.embedding_size != c_.hidden_size)
      x = linear(module("project_in"), c_.embedding_size, c_.hidden_size, x, false);
    if (a_.scales_embeddings)
      x = add_node(g_, module("embedding_scale"), "scale", {x},
                   Attributes().set("by", std::sqrt(static_cast<double>(c_.hidden_size))));
    if (a_.position_table.empty()) return x;
    Dense offset = Dense::zeros(DType::I64, {});
    offset.values.mutate<std::int64_t>()[0] = a_.position_offset;
    const std::string name = module(a_.position_table);
    g_.constants.push_back({name + ".offset", std::move(offset)});
    const std::string rows =
        add_node(g_, name + ".rows", "add", {"position_ids", name + ".offset"});
    const std::string positions =
        add_embedding(g_, name, {c_.positions + a_.position_offset, c_.hidden_size}, init, rows);
    return add_node(g_, module("embeddings"), "add", {x, positions});
  }

  // With takes_last, all that follows the attention is of the last token.
  std::string layer(std::string x, const std::string& name, const DecoderConfig::Layer& l,
                    bool takes_last) {
    const std::string self = joined(name, a_.attention), mlp = joined(name, a_.mlp);
    const std::string before = joined(name, a_.before_attention);
    std::string context = attention(self, first(before, a_.before_attention, x), l);
    if (takes_last) {
      context = add_last_token(g_, self + ".last", context);
      x = add_last_token(g_, name + ".last", x);
    }
    const std::string output = linear(joined(self, a_.attention_output), query_size(),
                                      c_.hidden_size, context, c_.has_output_bias);
    const std::string attended =
        normed(joined(name, a_.after_attention), a_.after_attention, output);
    const std::string before_mlp = joined(name, a_.before_mlp);
    if (c_.is_parallel) {
      const std::string y = feed_forward(mlp, first(before_mlp, a_.before_mlp, x), l);
      const std::string sum = add_node(g_, mlp + ".add_attention", "add", {y, attended});
      return add_node(g_, mlp + ".add", "add", {sum, x});
    }
    std::string y = add_node(g_, self + ".add", "add", {attended, x});
    y = second(before, a_.before_attention, y);
    const std::string z = normed(joined(name, a_.after_mlp), a_.after_mlp,
                                 feed_forward(mlp, first(before_mlp, a_.before_mlp, y), l));
    const std::string sum =
        add_node(g_, (a_.mlp.empty() ? name + ".mlp" : mlp) + ".add", "add", {z, y});
    return second(before_mlp, a_.before_mlp, sum);
  }
  // A norm before its layer, or after the layer's sum.
  std::string first(const std::string& name, std::string_view part, const std::string& x) {
    return c_.norms_first ? normed(name, part, x) : x;
  }
  std::string second(const std::string& name, std::string_view part, const std::string& x) {
    return c_.norms_first ? x : normed(name, part, x);
  }

  std::string attention(const std::string& self, const std::string& x,
                        const DecoderConfig::Layer& l) {
    std::vector<std::string> qkv = queries_keys_values(self, x);
    const bool each = a_.norms_each_head;
    if (!a_.query_norm.empty()) {
      qkv[0] = norm(joined(self, a_.query_norm), qkv[0], each ? c_.head_width : query_size());
      qkv[1] = norm(joined(self, a_.key_norm), qkv[1], each ? c_.head_width : key_size());
    }
    if (!rotary_.empty()) {
      qkv[0] = rotated(self + ".query_rotary", qkv[0], c_.heads, l.rotary);
      qkv[1] = rotated(self + ".key_rotary", qkv[1], c_.kv_heads, l.rotary);
    }
    if (with_.mask) qkv.emplace_back("attention_mask");
    Attributes with =
        Attributes().set("heads", c_.heads).set("causal", 1).set("scale", c_.attention_scale);
    if (c_.kv_heads != c_.heads) with.set("kv_heads", c_.kv_heads);
    if (l.window > 0) with.set("window", l.window);
    if (c_.score_cap > 0) with.set("soft_cap", c_.score_cap);
    return add_node(g_, self, "attention", std::move(qkv), with);
  }
  Index query_size() const { return c_.heads * c_.head_width; }
  Index key_size() const { return c_.kv_heads * c_.head_width; }

  std::vector<std::string> queries_keys_values(const std::string& self, const std::string& x) {
    const bool bias = c_.has_qkv_bias;
    if (a_.packed == PackedQkv::none)
      return {linear(joined(self, a_.query), c_.hidden_size, query_size(), x, bias),
              linear(joined(self, a_.key), c_.hidden_size, key_size(), x, bias),
              linear(joined(self, a_.value), c_.hidden_size, key_size(), x, bias)};
    const std::string name = joined(self, a_.query);
    const std::string all = linear(name, c_.hidden_size, query_size() + 2 * key_size(), x, bias);
    if (a_.packed == PackedQkv::by_head) return parts_of_heads(name, all);
    return {add_slice(g_, name + ".query", all, 0, query_size()),
            add_slice(g_, name + ".key", all, query_size(), key_size()),
            add_slice(g_, name + ".value", all, query_size() + key_size(), key_size())};
  }
  // Each head has its query, key and value one after the other.
  std::vector<std::string> parts_of_heads(const std::string& name, const std::string& x) {
    const std::string heads = reshaped(name + ".heads", x, {0, 0, c_.heads, 3 * c_.head_width});
    std::vector<std::string> all;
    for (const char* part : {".query", ".key", ".value"}) {
      const Index begin = std::ssize(all) * c_.head_width;
      all.push_back(reshaped(name + part,
                             add_slice(g_, name + part + ".heads", heads, begin, c_.head_width),
                             {0, 0, query_size()}));
    }
    return all;
  }
  std::string reshaped(const std::string& name, const std::string& x, Attributes::List shape) {
    return add_node(g_, name, "reshape", {x},
                    Attributes().set("shape", std::move(shape)).set("copy-zeros", 1));
  }
  std::string rotated(const std::string& name, const std::string& x, Index heads, std::size_t i) {
    Attributes with = Attributes().set("heads", heads);
    if (rotary_[i].scale != 1) with.set("scale", rotary_[i].scale);
    return add_node(g_, name, "rotary", {x, "position_ids", frequencies(i)}, with);
  }

  std::string feed_forward(const std::string& mlp, const std::string& x,
                           const DecoderConfig::Layer& l) {
    return l.has_experts ? mixture(mlp, x) : feed_forward(mlp, x, c_.intermediate_size);
  }
  std::string feed_forward(const std::string& mlp, const std::string& x, Index inner) {
    const std::string up_name = joined(mlp, a_.up);
    const std::string act = mlp + ".act_fn", product = mlp + ".gated";
    std::string hidden;
    if (a_.packs_gate_up) {
      const std::string both = linear(up_name, c_.hidden_size, 2 * inner, x, c_.has_mlp_bias);
      const std::string gate = add_slice(g_, up_name + ".gate", both, 0, inner);
      const std::string up = add_slice(g_, up_name + ".up", both, inner, inner);
      hidden = add_node(g_, product, "mul", {add_node(g_, act, c_.activation, {gate}), up});
    } else {
      if (!a_.gate.empty())
        hidden =
            add_node(g_, act, c_.activation,
                     {linear(joined(mlp, a_.gate), c_.hidden_size, inner, x, c_.has_mlp_bias)});
      const std::string up = linear(up_name, c_.hidden_size, inner, x, c_.has_mlp_bias);
      hidden = a_.gate.empty() ? add_node(g_, act, c_.activation, {up})
                               : add_node(g_, product, "mul", {hidden, up});
    }
    return linear(joined(mlp, a_.down), inner, c_.hidden_size, hidden, c_.has_mlp_bias);
  }

  std::string mixture(const std::string& mlp, const std::string& x) {
    const DecoderExperts& names = *a_.experts;
    const DecoderConfig::Experts& e = c_.experts;
    const std::string module = joined(mlp, names.module);
    std::vector<std::string> in{
        x, linear(joined(mlp, names.router), c_.hidden_size, e.count, x, false)};
    for (Index i = 0; i < e.count; ++i) add_expert(module, i, in);
    std::string y = add_node(g_, module, "mixture-of-experts", std::move(in),
                             Attributes()
                                 .set("top_k", e.top_k)
                                 .set("normalize", Index{e.normalizes})
                                 .set("activation", c_.activation));
    if (e.shared_size == 0) return y;
    const std::string shared = joined(mlp, names.shared), gate = joined(mlp, names.shared_gate);
    const std::string opened =
        add_node(g_, gate + ".sigmoid", "sigmoid", {linear(gate, c_.hidden_size, 1, x, false)});
    const std::string all = feed_forward(shared, x, e.shared_size);
    return add_node(g_, mlp + ".experts_and_shared", "add",
                    {y, add_node(g_, shared + ".weighted", "mul", {all, opened})});
  }
  // Adds the weights of an expert to the inputs. transformers 5 stacks those of all experts, but
  // writes them to files apart.
  void add_expert(const std::string& module, Index i, std::vector<std::string>& in) {
    const DecoderExperts& names = *a_.experts;
    const Index n = c_.experts.hidden_size, h = c_.hidden_size;
    const auto add = [&](std::string_view name, Shape shape, std::string_view stack, Index stride,
                         Index first) {
      in.push_back(add_weight(g_, fmt::format("{}.{}.{}.weight", module, i, name), shape,
                              normal_init(c_.initializer_range)));
      const Shape all{c_.experts.count, stride / shape[1], shape[1]};
      g_.weights.back().stacked_in.push_back({joined(module, stack), all, i * stride + first});
    };
    add(names.gate, {n, h}, "gate_up_proj", 2 * n * h, 0);
    add(names.up, {n, h}, "gate_up_proj", 2 * n * h, n * h);
    add(names.down, {h, n}, "down_proj", n * h, 0);
  }

  void head(std::string x) {
    if (c_.norms_first) x = normed(module(a_.final_norm), a_.final_norm, x);
    if (c_.embedding_size != c_.hidden_size)
      x = linear(module("project_out"), c_.hidden_size, c_.embedding_size, x, false);
    std::string w = g_.weights[embeddings_].name;
    if (!c_.ties_embeddings) {
      w = add_weight(g_, joined(a_.head, "weight"), {c_.vocab_size, c_.embedding_size},
                     normal_init(c_.initializer_range));
      if (!a_.head_alias.empty())
        g_.weights.back().aliases.emplace_back(joined(a_.head_alias, "weight"));
    }
    const bool has_cap = c_.logit_cap > 0;
    std::string y = add_node(g_, has_cap ? std::string(a_.head) : "logits", "linear", {x, w});
    if (has_cap) {
      const auto scaled = [&](const char* name, const std::string& of, double by) {
        return add_node(g_, name, "scale", {of}, Attributes().set("by", by));
      };
      y = add_node(g_, "logits.tanh", "tanh", {scaled("logits.scaled", y, 1 / c_.logit_cap)});
      y = scaled("logits", y, c_.logit_cap);
    }
    add_logits(g_, y, c_.vocab_size, with_.loss);
  }

  // Files of bare models lack the first part of names; multimodal models have more parts.
  void add_aliases() {
    const std::string begin = std::string(a_.base.substr(0, a_.base.find('.'))) + ".";
    for (Weight& w : g_.weights) {
      if (!w.name.starts_with(begin)) continue;
      const std::string rest = w.name.substr(begin.size());
      w.aliases.push_back(rest);
      if (a_.model_type != "gemma3_text") continue;
      w.aliases.push_back("language_model.model." + rest);
      w.aliases.push_back("model.language_model." + rest);
    }
  }

  std::string normed(const std::string& name, std::string_view part, const std::string& x) {
    return part.empty() ? x : norm(name, x, c_.hidden_size);
  }
  std::string norm(const std::string& name, const std::string& x, Index width) {
    if (a_.norm == DecoderNorm::layer) return add_layer_norm(g_, name, x, width, c_.norm_eps);
    const bool has_offset = a_.norm == DecoderNorm::rms_unit_offset;
    const std::string w =
        add_weight(g_, name + ".weight", {width}, Spec(has_offset ? "zeros" : "ones"));
    Attributes with = Attributes().set("eps", c_.norm_eps);
    if (has_offset) with.set("unit_offset", 1);
    return add_node(g_, name, "rms-norm", {x, w}, with);
  }
  std::string linear(const std::string& name, Index inputs, Index outputs, const std::string& x,
                     bool has_bias) {
    return add_linear(g_, name, {outputs, inputs}, normal_init(c_.initializer_range), x, has_bias);
  }

  const DecoderConfig& c_;
  const DecoderArchitecture& a_;
  const DecoderParts& with_;
  GraphParts g_;
  std::vector<RotaryFrequencies> rotary_;
  std::size_t embeddings_ = 0;  // the weight
};

}  // namespace

Graph decoder(const DecoderConfig& config, const DecoderParts& parts) {
  return DecoderBuilder(config, parts).build();
}

const std::vector<std::string>& decoder_unused() {
  static const std::vector<std::string> globs{
      "*rotary_emb.inv_freq",    "rope_freqs.weight",
      "*.attention.bias",        "*.attention.masked_bias",
      "vision_tower.*",          "model.vision_tower.*",
      "multi_modal_projector.*", "model.multi_modal_projector.*"};
  return globs;
}

}  // namespace sten
