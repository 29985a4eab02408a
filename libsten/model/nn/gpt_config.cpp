// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libsten/core/base/text.h"
#include "libsten/model/nn/config_fields.h"
#include "libsten/model/nn/gpt.h"

namespace sten {
namespace {

// Error for values that describe another model.
void check_gpt_kind(const JsonReader& in) {
  const std::pair<const char*, nlohmann::ordered_json> only[] = {
      {"model_type", "gpt2"},
      {"scale_attn_weights", true},
      {"scale_attn_by_inverse_layer_idx", false},
      {"add_cross_attention", false}};
  check_only(in, only);
}

}  // namespace

GptConfig GptConfig::parse(std::string_view json, const std::string& what) {
  const nlohmann::ordered_json document = parse_json(json, what);
  const JsonReader in(document, what);
  check_gpt_kind(in);
  GptConfig c;
  c.vocab_size = size_at(in, "vocab_size");
  c.n_positions = size_at(in, "n_positions");
  c.n_embd = size_at(in, "n_embd");
  c.n_layer = size_at(in, "n_layer");
  if (c.n_layer > most_layers)
    in["n_layer"].fail(fmt::format("expected at most {1}, got {0}", c.n_layer, most_layers));
  c.n_head = size_at(in, "n_head");
  const bool has_inner = in.has("n_inner") && !in["n_inner"].json().is_null();
  c.n_inner = has_inner ? size_at(in, "n_inner") : 4 * c.n_embd;
  c.layer_norm_epsilon = positive_at(in, "layer_norm_epsilon", c.layer_norm_epsilon);
  c.initializer_range = positive_at(in, "initializer_range", c.initializer_range);
  c.ties_embeddings = flag_at(in, "tie_word_embeddings", c.ties_embeddings);
  c.activation = activation_at(in, "activation_function", c.activation);
  if (c.n_embd % c.n_head != 0)
    in["n_head"].fail(fmt::format("expected a divisor of n_embd {1}, got {0}", c.n_head, c.n_embd));
  return c;
}

double GptConfig::parameters() const {
  const auto h = static_cast<double>(n_embd), inner = static_cast<double>(n_inner);
  const double rows = static_cast<double>(vocab_size) + static_cast<double>(n_positions);
  const double block = 4 * h * h + 9 * h + 2 * h * inner + inner;
  const double head = ties_embeddings ? 0 : static_cast<double>(vocab_size) * h;
  return rows * h + static_cast<double>(n_layer) * block + 2 * h + head;
}

bool is_gpt_config(std::string_view json, const std::string& what) {
  const nlohmann::ordered_json document = parse_json(json, what);
  const JsonReader in(document, what);
  if (!document.is_object()) return false;
  if (in.has("model_type")) return in["model_type"].json() == "gpt2";
  return in.has("n_embd");
}

}  // namespace sten
