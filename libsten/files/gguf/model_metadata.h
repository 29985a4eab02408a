// SPDX-License-Identifier: Apache-2.0
// Metadata of a GGUF file from the files of a Hugging Face model.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "libsten/files/gguf/architectures.h"
#include "libsten/files/gguf/gguf_writer.h"
#include "libsten/files/gguf/json_member.h"
#include "libsten/files/gguf/tensor_names.h"

namespace sten {

// What decides the names and the elements of a model's tensors in GGUF.
struct GgufModel {
  std::string_view architecture;
  Index heads = 1, key_heads = 1;  // of attention
  Index experts = 0;               // of each layer
  GgufHead head = GgufHead::optional;
  bool ties_embeddings = false;  // the embedding is the output head

  Index heads_of(GgufChange change) const {
    return change == GgufChange::rotary_key ? key_heads : heads;
  }
};

// Adds the sizes and the rotary embedding of config.json, as convert_hf_to_gguf writes them. Error
// for a model_type without one, for missing sizes, for a model that llama.cpp computes otherwise
// (model_checks.h), and for an unknown scaling of the rotary embedding.
GgufModel add_model_metadata(const NamedJson& config, GgufMetadata& to);

// The factors that the rotary embedding of Llama 3 divides its frequencies by, for the tensor
// rope_freqs.weight; empty for another scaling.
std::vector<float> llama3_factors(const NamedJson& config);

// Adds the tokenizer: byte-level BPE as "gpt2", BPE with bytes as fallback as "llama", whose scores
// are the negative ranks of merges. `settings`: tokenizer_config.json, or null. `vocabulary`: rows
// of the embedding; tokens beyond those of the tokenizer are unused, and a warning names added tokens
// beyond the rows. Error for other tokenizers, for two tokens of one text, for a splitting of text that
// llama.cpp has no name for, and for a space before each text of byte-level BPE.
void add_tokenizer_metadata(const NamedJson& tokenizer, const NamedJson& settings,
                            const NamedJson& config, std::size_t vocabulary, GgufMetadata& to);

}  // namespace sten
