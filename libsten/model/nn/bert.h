// SPDX-License-Identifier: Apache-2.0
// BERT (Devlin et al. 2019) for masked language modelling, for classification of texts and tokens,
// and without a head, with the names of Hugging Face transformers.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

// The head of a BERT, as in the classes of transformers.
enum class BertHead : std::uint8_t {
  words,     // BertForMaskedLM, BertForPreTraining: the vocabulary, at each position
  sequence,  // BertForSequenceClassification: classes of the text, from its first position
  tokens,    // BertForTokenClassification: classes at each position
  none       // BertModel: the hidden states
};

// The fields of a config.json, with its names. Dropout is ignored; see BertParts.
struct BertConfig {
  Index vocab_size = 0, hidden_size = 0, num_hidden_layers = 0, num_attention_heads = 0;
  Index intermediate_size = 0, max_position_embeddings = 0, type_vocab_size = 2;
  double layer_norm_eps = 1e-12, initializer_range = 0.02;
  std::string activation = "gelu";  // the operator of hidden_act
  bool ties_embeddings = true;      // tie_word_embeddings: the head for words shares its weight
  BertHead head = BertHead::words;  // from `architectures`
  std::string unknown_class;        // the first of `architectures`, if none has a BertHead
  std::vector<std::string> labels;  // names of the classes by id (id2label), may be empty

  // The number of classes of a classification head: 2 without labels, as in transformers.
  Index classes() const { return labels.empty() ? 2 : std::ssize(labels); }

  // Parses a config.json; messages start with `what`. Error (usage), which names the key, for
  // missing or non-positive sizes, a number of heads that does not divide the hidden size, and
  // values that describe another model, such as another activation or type of position embedding.
  // Ignores unknown keys.
  static BertConfig parse(std::string_view json, const std::string& what = "config");
  // Parses the file; see read_config().
  static BertConfig read(const std::string& path);
  // The number of parameters of the graph. A double, since a config may describe more than an
  // integer can hold.
  double parameters() const;
  friend bool operator==(const BertConfig&, const BertConfig&) = default;
};

// Parts of a BERT's graph besides the encoder.
struct BertParts {
  BertHead head = BertHead::words;
  Index classes = 0;      // of a classification head
  bool pooler = false;    // of `none`: adds output "pooler_output" [B, hidden]
  bool mask = false;      // adds input "attention_mask" [B, T], 0 for ignored padding
  bool selected = false;  // adds input "selected" [N], indices of B * T positions: logits are
                          // [N, vocabulary] instead of [B, T, vocabulary]; only these positions are
                          // computed after the last attention. For `words`
  bool all_states = false;  // with a head: computes the last layer at all positions, and selects
                            // those that need logits after it
  bool loss = false;        // adds input "labels", one per row of logits, -100 for rows that do
                            // not count, and output "loss", a scalar
  double dropout = 0;       // probability for embeddings and for the outputs of attention and
                            // feed-forward layers, not within attention; above 0 adds input "draw"
                            // (dropout.h)
};

// The classes of transformers that a BertHead stands for, "BertForMaskedLM, ...", for messages.
std::string known_bert_classes();

// Makes the graph of a BERT. Inputs are integers: "input_ids" [B, T], "position_ids" [T], and
// "token_type_ids" [B, T] or a shape that broadcasts to it; bert_inputs() makes them. The output
// "cls.predictions.decoder" or "classifier" is the logits: [B, classes] for sequences, [B, T,
// classes] for tokens; without a head, the output is "last_hidden_state" [B, T, hidden]. A decoder
// that shares the word embeddings is no weight of its own; "cls.predictions.decoder.weight" of a
// file must then equal them. Names in a file may lack "bert.". Intermediate values have the names of their modules, such as
// "bert.encoder.layer.0.attention.self.query"; attention is "...attention.self", activations are
// "...intermediate.intermediate_act_fn", and sums before a LayerNorm "....add".
Graph bert(const BertConfig& config, const BertParts& parts = {});

// The inputs for ids [B, T]: positions 0 to T - 1 and token type 0.
NamedValues<Tensor> bert_inputs(const Tensor& ids);

// Globs of tensors that BERT files have for other uses: pooler, next-sentence head, position ids.
std::vector<std::string> bert_unused(BertHead head = BertHead::words);
// Globs of weights that files for other uses lack: those of a classification head.
std::vector<std::string> bert_new(BertHead head);

// The config with the architecture of `head`, and with these labels if there are any.
std::string with_labels(std::string_view config, BertHead head,
                        const std::vector<std::string>& labels);

}  // namespace sten
