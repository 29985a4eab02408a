// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "libsten/core/base/text.h"
#include "libsten/model/nn/bert.h"
#include "libsten/model/nn/config_fields.h"
#include "libsten/model/nn/config_file.h"

namespace sten {
namespace {

// Error for values that describe another model.
void check_kind(const JsonReader& in) {
  const std::pair<const char*, nlohmann::ordered_json> only[] = {
      {"model_type", "bert"},
      {"position_embedding_type", "absolute"},
      {"is_decoder", false},
      {"add_cross_attention", false},
      {"chunk_size_feed_forward", 0}};
  check_only(in, only);
}

constexpr std::pair<BertHead, const char*> architectures[] = {
    {BertHead::words, "BertForMaskedLM"},
    {BertHead::words, "BertForPreTraining"},
    {BertHead::sequence, "BertForSequenceClassification"},
    {BertHead::tokens, "BertForTokenClassification"},
    {BertHead::none, "BertModel"}};

// Parses {"0": "NEGATIVE", "1": "POSITIVE"}.
std::vector<std::string> labels_by_id(const JsonReader& in) {
  const auto members = in.members();
  std::vector<std::string> labels(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string id = std::to_string(i);
    if (!in.has(id))
      in.fail(fmt::format("has {} labels but no label for the id {}", members.size(), id));
    labels[i] = in[id].text();
  }
  return labels;
}

}  // namespace

BertConfig BertConfig::parse(std::string_view json, const std::string& what) {
  const nlohmann::ordered_json document = parse_json(json, what);
  const JsonReader in(document, what);
  check_kind(in);  // first, since configs of other models have other fields
  BertConfig c;
  c.vocab_size = size_at(in, "vocab_size");
  c.hidden_size = size_at(in, "hidden_size");
  c.num_hidden_layers = size_at(in, "num_hidden_layers");
  if (c.num_hidden_layers > most_layers)
    in["num_hidden_layers"].fail(
        fmt::format("expected at most {1}, got {0}", c.num_hidden_layers, most_layers));
  c.num_attention_heads = size_at(in, "num_attention_heads");
  c.intermediate_size = size_at(in, "intermediate_size");
  c.max_position_embeddings = size_at(in, "max_position_embeddings");
  if (in.has("type_vocab_size")) c.type_vocab_size = size_at(in, "type_vocab_size");
  c.layer_norm_eps = positive_at(in, "layer_norm_eps", c.layer_norm_eps);
  c.initializer_range = positive_at(in, "initializer_range", c.initializer_range);
  c.activation = activation_at(in, "hidden_act", c.activation);
  if (c.hidden_size % c.num_attention_heads != 0)
    in["num_attention_heads"].fail(fmt::format("expected a divisor of hidden_size {1}, got {0}",
                                               c.num_attention_heads, c.hidden_size));
  c.ties_embeddings = flag_at(in, "tie_word_embeddings", c.ties_embeddings);
  if (in.has("architectures") && in["architectures"].json().is_array()) {
    const std::vector<std::string> given = in["architectures"].texts();
    const auto known = std::ranges::find_if(architectures, [&](const auto& a) {
      return std::ranges::find(given, a.second) != given.end();
    });
    if (known != std::end(architectures))
      c.head = known->first;
    else if (!given.empty())
      c.unknown_class = given.front();
  }
  if (in.has("id2label")) c.labels = labels_by_id(in["id2label"]);
  return c;
}

BertConfig BertConfig::read(const std::string& path) {
  return parse(read_config(path), printable(path));
}

std::string known_bert_classes() {
  std::string all;
  for (const auto& [head, name] : architectures)
    all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

std::string with_labels(std::string_view config, BertHead head,
                        const std::vector<std::string>& labels) {
  nlohmann::ordered_json json = parse_json(config, "config");
  json["architectures"] = {
      std::ranges::find(architectures, head, &std::pair<BertHead, const char*>::first)->second};
  if (labels.empty()) return dump_json(json, 2) + "\n";
  std::unordered_map<std::string_view, std::size_t> last;  // for labels that two classes share
  for (std::size_t i = 0; i < labels.size(); ++i) last[labels[i]] = i;
  // operator[] would search all keys for each new key.
  nlohmann::ordered_json::object_t names, ids;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    names.emplace_back(std::to_string(i), labels[i]);
    if (last[labels[i]] == i) ids.emplace_back(labels[i], i);
  }
  json["id2label"] = std::move(names);
  json["label2id"] = std::move(ids);
  return dump_json(json, 2) + "\n";
}

double BertConfig::parameters() const {
  const auto h = static_cast<double>(hidden_size), inner = static_cast<double>(intermediate_size);
  const auto vocabulary = static_cast<double>(vocab_size);
  const double rows = vocabulary + static_cast<double>(max_position_embeddings) +
                      static_cast<double>(type_vocab_size);
  const double layer = 4 * h * h + 9 * h + 2 * h * inner + inner;
  const double decoder = ties_embeddings ? 0 : vocabulary * h;
  return rows * h + static_cast<double>(num_hidden_layers) * layer + h * h + 5 * h + vocabulary +
         decoder;
}

}  // namespace sten
