// BERT (Devlin et al. 2019) for masked-language models and for classification of texts and tokens,
// under the names of HuggingFace transformers.
#pragma once
#include "libsten/graph/graph.h"

namespace sten {

// What a BERT's logits are of, by the classes of transformers.
enum class BertHead : std::uint8_t {
  words,     // BertForMaskedLM: the vocabulary, at each place
  sequence,  // BertForSequenceClassification: classes of the whole, from its first place
  tokens     // BertForTokenClassification: classes at each place
};

// The fields of a config.json, under its names. Dropout is ignored: see BertParts.
struct BertConfig {
  Index vocab_size = 0, hidden_size = 0, num_hidden_layers = 0, num_attention_heads = 0;
  Index intermediate_size = 0, max_position_embeddings = 0, type_vocab_size = 2;
  double layer_norm_eps = 1e-12, initializer_range = 0.02;
  std::string hidden_act = "gelu";  // or relu
  BertHead head = BertHead::words;  // that `architectures` say
  std::vector<std::string> labels;  // what classes are called: id2label, by id; empty: not said

  // That a head for classification tells apart: 2 where no labels say more, as transformers has it.
  Index classes() const { return labels.empty() ? 2 : std::ssize(labels); }

  // `what` begins messages. Error (usage) that names the key: sizes that are missing or not
  // positive integers, heads that do not divide the hidden size, and values of another model, such
  // as an activation or position embeddings of another type. Other keys are ignored.
  static BertConfig parse(std::string_view json, const std::string& what = "config");
  // The number of parameters of its graph; a double, because a config may describe more than any
  // integer holds.
  double parameters() const;
  friend bool operator==(const BertConfig&, const BertConfig&) = default;
};

// The parts of a BERT's graph besides its encoder.
struct BertParts {
  BertHead head = BertHead::words;
  Index classes = 0;      // that a head for classification tells apart
  bool mask = false;      // an input "attention_mask" [B, T], 0 for padding, which is not seen
  bool selected = false;  // an input "selected" [N]: logits [N, vocabulary] for these places of
                          // B * T alone, else logits [B, T, vocabulary]; what follows the
                          // last attention is computed for them alone, too; of `words`
  bool loss = false;      // an input "labels", one for each row of logits, -100 where it does not
                          // count; and the output "loss", a scalar
  double dropout = 0;     // of the embeddings, and of what attention and the feed-forward layers
                          // add; above 0 an input "draw" (dropout.h). Attention has none inside
};

// Inputs are integers: "input_ids" [B, T], "position_ids" [T], "token_type_ids" [B, T] or what is
// repeated to it; bert_inputs() gives them. The output "cls.predictions.decoder", or "classifier",
// are the logits: [B, classes] of sequences, [B, T, classes] of tokens. The decoder shares the word embeddings, as "cls.predictions.decoder.weight" of a file has to.
// Intermediate values have the names of the modules that make them, such as
// "bert.encoder.layer.0.attention.self.query"; attention itself is "...attention.self", activations
// are "...intermediate.intermediate_act_fn", and sums before a LayerNorm "....add".
Graph bert(const BertConfig& config, const BertParts& parts = {});

// For ids [B, T]: positions 0 to T - 1, and token type 0 everywhere.
NamedValues<Tensor> bert_inputs(const Tensor& ids);

// Globs of tensors that files of BERTs have for other uses: the pooler, the head for next-sentence
// prediction, and position numbers.
std::vector<std::string> bert_unused(BertHead head = BertHead::words);
// Globs of weights that files for other uses lack: those of a head for classification.
std::vector<std::string> bert_new(BertHead head);

// A config.json with the architecture of that head, and with what its classes are called.
std::string with_labels(std::string_view config, BertHead head,
                        const std::vector<std::string>& labels);

}  // namespace sten
