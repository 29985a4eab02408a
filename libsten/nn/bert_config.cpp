#include "libsten/base/text.h"
#include "libsten/nn/bert.h"
#include "libsten/nn/config_fields.h"

namespace sten {
namespace {

// What would be another model.
void check_kind(const JsonReader& in) {
  const std::pair<const char*, nlohmann::ordered_json> only[] = {
      {"model_type", "bert"},        {"position_embedding_type", "absolute"},
      {"is_decoder", false},         {"add_cross_attention", false},
      {"tie_word_embeddings", true}, {"chunk_size_feed_forward", 0}};
  check_only(in, only);
}

}  // namespace

BertConfig BertConfig::parse(std::string_view json, const std::string& what) {
  const nlohmann::ordered_json document = parse_json(json, what);
  const JsonReader in(document, what);
  BertConfig c;
  c.vocab_size = size_at(in, "vocab_size");
  c.hidden_size = size_at(in, "hidden_size");
  c.num_hidden_layers = size_at(in, "num_hidden_layers");
  if (c.num_hidden_layers > most_layers)
    in["num_hidden_layers"].fail(fmt::format("is {}, above {}", c.num_hidden_layers, most_layers));
  c.num_attention_heads = size_at(in, "num_attention_heads");
  c.intermediate_size = size_at(in, "intermediate_size");
  c.max_position_embeddings = size_at(in, "max_position_embeddings");
  if (in.has("type_vocab_size")) c.type_vocab_size = size_at(in, "type_vocab_size");
  c.layer_norm_eps = positive_at(in, "layer_norm_eps", c.layer_norm_eps);
  c.initializer_range = positive_at(in, "initializer_range", c.initializer_range);
  if (in.has("hidden_act")) c.hidden_act = in["hidden_act"].text();
  if (c.hidden_act != "gelu" && c.hidden_act != "relu")
    in["hidden_act"].fail(fmt::format("is {}; there are gelu and relu", quote(c.hidden_act)));
  if (c.hidden_size % c.num_attention_heads != 0)
    in["num_attention_heads"].fail(fmt::format("is {}, which does not divide the hidden_size {}",
                                               c.num_attention_heads, c.hidden_size));
  check_kind(in);
  return c;
}

double BertConfig::parameters() const {
  const auto h = static_cast<double>(hidden_size), inner = static_cast<double>(intermediate_size);
  const auto vocabulary = static_cast<double>(vocab_size);
  const double rows = vocabulary + static_cast<double>(max_position_embeddings) +
                      static_cast<double>(type_vocab_size);
  const double layer = 4 * h * h + 9 * h + 2 * h * inner + inner;
  return rows * h + static_cast<double>(num_hidden_layers) * layer + h * h + 5 * h + vocabulary;
}

}  // namespace sten
