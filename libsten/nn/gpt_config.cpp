#include <algorithm>

#include "libsten/base/json_reader.h"
#include "libsten/base/text.h"
#include "libsten/nn/gpt.h"

namespace sten {
namespace {

constexpr Index most_blocks = 10000;

Index extent_at(const JsonReader& in, const char* key) {
  const JsonReader at = in[key];
  const Index n = at.integer();
  if (n < 1) at.fail(fmt::format("is {}, not 1 or more", n));
  return n;
}

double above_zero_at(const JsonReader& in, const char* key, double fallback) {
  if (!in.has(key)) return fallback;
  const double x = in[key].number();
  if (!(x > 0)) in[key].fail(fmt::format("is {}, not above 0", x));
  return x;
}

// What would be another model.
void check_gpt_kind(const JsonReader& in) {
  const std::pair<const char*, nlohmann::ordered_json> only[] = {
      {"model_type", "gpt2"},
      {"scale_attn_weights", true},
      {"scale_attn_by_inverse_layer_idx", false},
      {"add_cross_attention", false},
      {"tie_word_embeddings", true}};
  for (const auto& [key, value] : only)
    if (in.has(key) && in[key].json() != value)
      in[key].fail(fmt::format("is {}; there is {} only",
                               printable(dump_json(in[key].json()).substr(0, 100)),
                               dump_json(value)));
  if (in.has("pruned_heads") && !in["pruned_heads"].json().empty())
    in["pruned_heads"].fail("names heads; all have to be there");
}

}  // namespace

GptConfig GptConfig::parse(std::string_view json, const std::string& what) {
  const nlohmann::ordered_json document = parse_json(json, what);
  const JsonReader in(document, what);
  GptConfig c;
  c.vocab_size = extent_at(in, "vocab_size");
  c.n_positions = extent_at(in, "n_positions");
  c.n_embd = extent_at(in, "n_embd");
  c.n_layer = extent_at(in, "n_layer");
  if (c.n_layer > most_blocks)
    in["n_layer"].fail(fmt::format("is {}, above {}", c.n_layer, most_blocks));
  c.n_head = extent_at(in, "n_head");
  const bool has_inner = in.has("n_inner") && !in["n_inner"].json().is_null();
  c.n_inner = has_inner ? extent_at(in, "n_inner") : 4 * c.n_embd;
  c.layer_norm_epsilon = above_zero_at(in, "layer_norm_epsilon", c.layer_norm_epsilon);
  c.initializer_range = above_zero_at(in, "initializer_range", c.initializer_range);
  const std::vector<std::string> known{
      "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu", "relu", "silu", "tanh"};
  if (in.has("activation_function")) c.activation_function = in["activation_function"].text();
  if (std::ranges::find(known, c.activation_function) == known.end())
    in["activation_function"].fail(fmt::format(
        "is {}; there are gelu_new, gelu_pytorch_tanh, gelu_fast, gelu, relu, silu and tanh",
        quote(c.activation_function)));
  if (c.n_embd % c.n_head != 0)
    in["n_head"].fail(
        fmt::format("is {}, which does not divide the n_embd {}", c.n_head, c.n_embd));
  check_gpt_kind(in);
  return c;
}

double GptConfig::parameters() const {
  const auto h = static_cast<double>(n_embd), inner = static_cast<double>(n_inner);
  const double rows = static_cast<double>(vocab_size) + static_cast<double>(n_positions);
  const double block = 4 * h * h + 9 * h + 2 * h * inner + inner;
  return rows * h + static_cast<double>(n_layer) * block + 2 * h;
}

bool is_gpt_config(std::string_view json, const std::string& what) {
  const nlohmann::ordered_json document = parse_json(json, what);
  const JsonReader in(document, what);
  if (!document.is_object()) return false;
  if (in.has("model_type")) return in["model_type"].json() == "gpt2";
  return in.has("n_embd");
}

}  // namespace sten
