// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libsten/core/base/text.h"
#include "libsten/model/nn/config_fields.h"
#include "libsten/model/nn/decoder.h"

namespace sten {
namespace {

bool flag_at(const JsonReader& in, const BiasRule& rule) {
  return rule.key.empty() ? rule.usual : flag_at(in, rule.key, rule.usual);
}
Index size_or(const JsonReader& in, const char* key, Index fallback) {
  return has_value(in, key) ? size_at(in, key) : fallback;
}
double cap_at(const JsonReader& in, const char* key, double fallback) {
  if (!in.has(key)) return fallback;
  return has_value(in, key) ? positive_at(in, key, fallback) : 0;
}

// The kinds of layers, "sliding_attention" or "full_attention", where the file lists them.
std::vector<bool> listed_windows(const JsonReader& in, Index layers) {
  const std::vector<JsonReader> all = in.elements();
  if (std::ssize(all) != layers)
    in.fail(fmt::format("expected {} layers, got {}", layers, all.size()));
  std::vector<bool> slides;
  for (const JsonReader& one : all) {
    const std::string kind = one.text();
    if (kind != "sliding_attention" && kind != "full_attention")
      one.fail(fmt::format("unknown layer type {} (expected sliding_attention or full_attention)",
                           quote(kind)));
    slides.push_back(kind == "sliding_attention");
  }
  return slides;
}

std::vector<bool> sliding_layers(const JsonReader& in, const DecoderArchitecture& a, Index layers) {
  using enum DecoderWindows;
  const bool may_lack = a.windows == from_max_window_layers || a.windows == every_layer_if_used ||
                        a.windows == alternate_below_max_window_layers;
  if (may_lack && !flag_at(in, "use_sliding_window", false))
    return std::vector<bool>(layers, false);
  const bool is_uniform = a.windows == every_layer || a.windows == every_layer_if_used;
  const bool by_layer = a.windows != none && !is_uniform;
  if (by_layer && has_value(in, "layer_types")) return listed_windows(in["layer_types"], layers);
  const Index first = has_value(in, "max_window_layers")
                          ? static_cast<Index>(in["max_window_layers"].natural())
                          : 28;
  const Index pattern = size_or(in, "sliding_window_pattern", 6);
  std::vector<bool> slides;
  for (Index i = 0; i < layers; ++i)
    slides.push_back(is_uniform || (a.windows == from_max_window_layers && i >= first) ||
                     (a.windows == alternate && i % 2 == 0) ||
                     (a.windows == alternate_below_max_window_layers && i % 2 == 0 && i < first) ||
                     (a.windows == five_of_six && (i + 1) % pattern != 0));
  return slides;
}

void take_experts(const JsonReader& in, DecoderConfig& c) {
  const DecoderExperts& usual = *c.architecture->experts;
  DecoderConfig::Experts& e = c.experts;
  const char* count_key = has_value(in, "num_experts") ? "num_experts" : "num_local_experts";
  e.count = size_or(in, count_key, usual.usual_count);
  constexpr Index most_experts = 1 << 14;  // of a layer, each with three weights
  if (e.count > most_experts)
    in[count_key].fail(fmt::format("expected at most {}, got {}", most_experts, e.count));
  e.top_k = size_or(in, "num_experts_per_tok", usual.usual_top_k);
  if (e.top_k > e.count)
    in["num_experts_per_tok"].fail(
        fmt::format("expected at most {} {}, got {}", count_key, e.count, e.top_k));
  e.hidden_size = size_at(in, std::string(usual.inner_key).c_str());
  e.normalizes = usual.normalizes || flag_at(in, "norm_topk_prob", false);
  if (!usual.shared.empty()) e.shared_size = size_at(in, "shared_expert_intermediate_size");
  const Index step = size_or(in, "decoder_sparse_step", 1);
  std::vector<Index> dense;
  if (has_value(in, "mlp_only_layers"))
    for (const JsonReader& layer : in["mlp_only_layers"].elements())
      dense.push_back(layer.integer());
  for (Index i = 0; i < std::ssize(c.layers); ++i)
    c.layers[i].has_experts = (i + 1) % step == 0 && std::ranges::count(dense, i) == 0;
}

void take_layers(const JsonReader& in, DecoderConfig& c) {
  const DecoderArchitecture& a = *c.architecture;
  const Index layers = size_at(in, "num_hidden_layers");
  if (layers > most_layers)
    in["num_hidden_layers"].fail(fmt::format("expected at most {1}, got {0}", layers, most_layers));
  const bool has_none = in.has("sliding_window") &&
                        (in["sliding_window"].json().is_null() || in["sliding_window"].json() == 0);
  const Index window = has_none ? 0 : size_or(in, "sliding_window", a.usual_window);
  for (const bool slides : sliding_layers(in, a, layers))
    c.layers.push_back({slides ? window : 0, slides && c.rotary.size() > 1 ? 1U : 0U});
  if (a.experts) take_experts(in, c);
}

void take_rotary(const JsonReader& in, DecoderConfig& c) {
  const DecoderArchitecture& a = *c.architecture;
  if (!a.position_table.empty()) return;
  const auto positions = static_cast<double>(c.positions);
  const double theta = positive_at(in, std::string(a.theta_key).c_str(), a.rope_theta);
  const double local_theta = positive_at(in, "rope_local_base_freq", 10000);
  const nlohmann::ordered_json nothing = nlohmann::ordered_json::object();
  const JsonReader no_object(nothing, in.origin());
  const char* key = has_value(in, "rope_parameters") ? "rope_parameters" : "rope_scaling";
  const JsonReader of = has_value(in, key) ? in[key] : no_object;
  if (key == std::string_view("rope_parameters") && has_value(in, "rope_scaling") &&
      !in["rope_scaling"].json().empty())
    in["rope_scaling"].fail("expected one of rope_scaling and rope_parameters, got both");
  const bool has_two = a.windows == DecoderWindows::five_of_six;
  const bool is_by_layer = of.has("full_attention") || of.has("sliding_attention");
  const auto part = [&](const char* layers) {
    return is_by_layer ? (has_value(of, layers) ? of[layers] : no_object) : of;
  };
  // Phi-3's own key.
  const double original = positive_at(in, "original_max_position_embeddings", a.original_positions);
  c.rotary.push_back(RotaryParameters::parse(part("full_attention"), theta, positions, original));
  if (!of.has("partial_rotary_factor"))
    c.rotary[0].part = positive_at(in, std::string(a.part_key).c_str(), a.rotary_part);
  if (has_two)
    c.rotary.push_back(RotaryParameters::parse(is_by_layer ? part("sliding_attention") : no_object,
                                               local_theta, positions, original));
  for (const RotaryParameters& r : c.rotary) {
    const auto rotated = static_cast<Index>(static_cast<double>(c.head_width) * r.part);
    if (rotated < 2 || rotated > c.head_width || rotated % 2 != 0)
      in.fail(fmt::format("expected an even number of rotated channels of {}, got {}", c.head_width,
                          rotated));
    if (r.type == "longrope")
      for (const auto* factors : {&r.short_factor, &r.long_factor})
        if (std::ssize(*factors) != rotated / 2)
          of.fail(fmt::format("expected {} factors of frequencies, got {}", rotated / 2,
                              factors->size()));
  }
}

void take_heads(const JsonReader& in, DecoderConfig& c) {
  c.heads = size_at(in, "num_attention_heads");
  c.kv_heads =
      c.architecture->groups_queries ? size_or(in, "num_key_value_heads", c.heads) : c.heads;
  if (c.heads % c.kv_heads != 0)
    in["num_key_value_heads"].fail(
        fmt::format("expected a divisor of num_attention_heads {}, got {}", c.heads, c.kv_heads));
  if (!has_value(in, "head_dim") && c.hidden_size % c.heads != 0)
    in["num_attention_heads"].fail(
        fmt::format("expected a divisor of hidden_size {}, got {}", c.hidden_size, c.heads));
  c.head_width = size_or(in, "head_dim", c.hidden_size / c.heads);
  const double scalar = c.architecture->scales_embeddings
                            ? positive_at(in, "query_pre_attn_scalar", 256)
                            : static_cast<double>(c.head_width);
  c.attention_scale = 1 / std::sqrt(scalar);
}

// The object that describes the language model, and its row.
const DecoderArchitecture& architecture_of(const JsonReader& in) {
  const std::string type = in["model_type"].text();
  const DecoderArchitecture* a = find_decoder(type);
  if (!a)
    in["model_type"].fail(
        fmt::format("expected one of {}, got {}", known_model_types(), quote(type)));
  return *a;
}

DecoderConfig parse_language_model(const JsonReader& in) {
  DecoderConfig c;
  const DecoderArchitecture& a = *(c.architecture = &architecture_of(in));
  const std::pair<const char*, nlohmann::ordered_json> only[] = {
      {"add_cross_attention", false}, {"use_bidirectional_attention", false}};
  check_only(in, only);
  c.vocab_size = size_at(in, "vocab_size");
  c.hidden_size = size_at(in, "hidden_size");
  c.intermediate_size = size_at(in, std::string(a.inner_key).c_str());
  c.positions = size_at(in, "max_position_embeddings");
  c.embedding_size = size_or(in, "word_embed_proj_dim", c.hidden_size);
  c.norm_eps = positive_at(in, std::string(a.eps_key).c_str(), a.eps);
  c.initializer_range = positive_at(in, "initializer_range", c.initializer_range);
  c.activation = activation_at(in, a.activation_key, a.usual_activation);
  c.has_qkv_bias = flag_at(in, a.qkv_bias);
  c.has_output_bias = flag_at(in, a.output_bias);
  c.has_mlp_bias = flag_at(in, a.mlp_bias);
  c.ties_embeddings = flag_at(in, "tie_word_embeddings", a.ties_embeddings);
  c.is_parallel = a.packed == PackedQkv::by_head && flag_at(in, "use_parallel_residual", true);
  c.norms_first = flag_at(in, "do_layer_norm_before", true);
  if (a.score_cap > 0) c.score_cap = cap_at(in, "attn_logit_softcapping", a.score_cap);
  if (a.scales_embeddings) c.logit_cap = cap_at(in, "final_logit_softcapping", a.logit_cap);
  take_heads(in, c);
  take_rotary(in, c);
  take_layers(in, c);
  return c;
}

}  // namespace

DecoderConfig DecoderConfig::parse(std::string_view json, const std::string& what) {
  const nlohmann::ordered_json document = parse_json(json, what);
  const JsonReader in(document, what);
  return parse_language_model(in.has("text_config") ? in["text_config"] : in);
}

bool is_decoder_config(std::string_view json, const std::string& what) {
  const nlohmann::ordered_json document = parse_json(json, what);
  const JsonReader in(document, what);
  if (!document.is_object()) return false;
  const JsonReader of = in.has("text_config") ? in["text_config"] : in;
  return of.json().is_object() && of.has("model_type") && of["model_type"].json().is_string() &&
         find_decoder(of["model_type"].text()) != nullptr;
}

}  // namespace sten
