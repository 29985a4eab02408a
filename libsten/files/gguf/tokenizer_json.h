// SPDX-License-Identifier: Apache-2.0
// Tokenizer of the model in a GGUF file, in the files of Hugging Face.
#pragma once
#include <string>

#include "libsten/files/gguf/gguf_file.h"

namespace sten {

// Whether the metadata have a tokenizer.
bool has_gguf_tokenizer(const GgufFile& file);

// The text of tokenizer.json. "tokenizer.ggml.model" is gpt2 (byte-level BPE, split as
// "tokenizer.ggml.pre" says) or llama (SentencePiece's BPE with bytes as fallback; without merges in
// the file, these are recovered from the scores of the tokens, as in transformers). `file_name`
// starts messages. Error for another model, an unknown "pre", tokens that are not UTF-8, and ids
// beyond the tokens.
std::string gguf_tokenizer_json(const GgufFile& file, const std::string& file_name);

// The text of tokenizer_config.json: special tokens and chat template. Error as above.
std::string gguf_tokenizer_config_json(const GgufFile& file, const std::string& file_name);

}  // namespace sten
