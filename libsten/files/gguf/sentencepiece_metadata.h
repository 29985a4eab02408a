// SPDX-License-Identifier: Apache-2.0
// Models of SentencePiece in the metadata of GGUF files.
#pragma once
#include <string>

#include "libsten/files/gguf/gguf_file.h"
#include "libsten/files/gguf/model_metadata.h"
#include "libsten/files/sentencepiece/sentencepiece_model.h"

namespace sten {

// The model of a file whose "tokenizer.ggml.model" is t5. Error as parse_sentencepiece().
SentencePieceModel gguf_sentencepiece(const GgufFile& file, const std::string& name);

// Adds a model of BPE with bytes as fallback, from a tokenizer.model `name`, as "llama": tokens,
// scores and types as convert_hf_to_gguf writes them. `settings` and `vocabulary` as for
// add_tokenizer_metadata(); the added tokens of `settings` are included. Warns about a normalization
// of texts, which such a file cannot express, and about added tokens beyond the vocabulary. Error for
// other models, for two tokens of one text, and for pieces beyond the vocabulary.
void add_sentencepiece_metadata(const SentencePieceModel& model, const std::string& name,
                                const NamedJson& settings, const NamedJson& config,
                                std::size_t vocabulary, GgufMetadata& to);

}  // namespace sten
