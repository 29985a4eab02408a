// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/causal_layers.h"

#include <algorithm>

#include "libsten/core/base/json.h"
#include "libsten/model/nn/decoder.h"
#include "libsten/model/nn/gpt.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

// The object that describes the language model.
Json& language_model(Json& document) {
  return document.contains("text_config") ? document["text_config"] : document;
}

void keep_windows(Json& c, Index count, std::span<const Index> kept) {
  if (const auto types = c.find("layer_types");
      types != c.end() && types->is_array() && std::ssize(*types) == count) {
    Json left = Json::array();
    for (const Index i : kept) left.push_back((*types)[i]);
    *types = std::move(left);
  }
  if (const auto first = c.find("max_window_layers");
      first != c.end() && first->is_number_integer() && first->get<Index>() < count)
    *first = std::ranges::count_if(kept, [&](Index i) { return i < first->get<Index>(); });
}

// A step between layers with experts becomes a list of those without.
void keep_mixtures(Json& c, const DecoderConfig& before, std::span<const Index> kept) {
  if (std::ranges::all_of(before.layers, &DecoderConfig::Layer::has_experts)) return;
  Json dense = Json::array();
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (!before.layers[kept[i]].has_experts) dense.push_back(i);
  c["decoder_sparse_step"] = 1;
  c["mlp_only_layers"] = std::move(dense);
}

void list_windows(Json& c, const DecoderConfig& before, std::span<const Index> kept) {
  Json types = Json::array();
  for (const Index i : kept) {
    const DecoderConfig::Layer& layer = before.layers[i];
    const bool slides = layer.window > 0 || layer.rotary > 0;
    types.push_back(slides ? "sliding_attention" : "full_attention");
  }
  c["layer_types"] = std::move(types);
  c.erase("sliding_window_pattern");
}

void set_experts(Json& c, const DecoderConfig& before, Index experts) {
  bool is_named = false;
  for (const char* key : {"num_experts", "num_local_experts"})
    if (const auto at = c.find(key); at != c.end() && !at->is_null()) {
      *at = experts;
      is_named = true;
    }
  // transformers has another name in Mixtral.
  if (!is_named)
    c[before.architecture->model_type == "mixtral" ? "num_local_experts" : "num_experts"] = experts;
}

bool has_layers(const DecoderConfig& after, const DecoderConfig& before,
                std::span<const Index> kept) {
  return std::ranges::equal(kept, after.layers, {}, [&](Index i) { return before.layers[i]; });
}

}  // namespace

CausalLayers causal_layers(std::string_view json, const std::string& what) {
  if (is_gpt_config(json, what))
    return {"gpt2", "transformer.h", GptConfig::parse(json, what).n_layer, {}};
  const DecoderConfig c = DecoderConfig::parse(json, what);
  const DecoderArchitecture& a = *c.architecture;
  CausalLayers layers{
      std::string(a.model_type), fmt::format("{}.{}", a.base, a.layers), std::ssize(c.layers), {}};
  if (a.experts)
    layers.mixture = {fmt::format("{}.{}", a.mlp, a.experts->router),
                      fmt::format("{}.{}", a.mlp, a.experts->module), c.experts.count,
                      c.experts.top_k};
  return layers;
}

std::string reduced_config(std::string_view json, const std::string& what,
                           std::span<const Index> kept, std::optional<Index> experts) {
  Json document = parse_json(json, what);
  Json& c = language_model(document);
  const auto text = [&] { return dump_json(document, 2) + "\n"; };
  if (is_gpt_config(json, what)) {
    c["n_layer"] = kept.size();
    return text();
  }
  const DecoderConfig before = DecoderConfig::parse(json, what);
  const Index count = std::ssize(before.layers);
  c["num_hidden_layers"] = kept.size();
  if (experts) set_experts(c, before, *experts);
  if (std::ssize(kept) == count) return text();
  keep_windows(c, count, kept);
  if (before.architecture->experts) keep_mixtures(c, before, kept);
  if (has_layers(DecoderConfig::parse(text(), what), before, kept)) return text();
  list_windows(c, before, kept);
  if (!has_layers(DecoderConfig::parse(text(), what), before, kept))
    fail_usage("{}: model_type {} cannot express the windows of the remaining layers", what,
               before.architecture->model_type);
  return text();
}

}  // namespace sten
