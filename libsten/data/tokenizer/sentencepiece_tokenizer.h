// SPDX-License-Identifier: Apache-2.0
// Tokenizers of SentencePiece models.
#pragma once
#include <memory>
#include <string>

#include "libsten/data/tokenizer/files.h"
#include "libsten/files/sentencepiece/sentencepiece_model.h"

namespace sten {

// The tokenizer of a model, with the special tokens of `config`; `name` is the file and `bytes` its
// size. The ids are those of SentencePiece, with added tokens as in transformers: those of `config`
// and control pieces are found in the text before it is normalized; without "legacy" in `config`
// each part between them gets the prefix, and with `"legacy": false` only a part at the start.
std::shared_ptr<Tokenizer> sentencepiece_tokenizer(SentencePieceModel model, TokenizerConfig config,
                                                   const std::string& name, std::size_t bytes);

}  // namespace sten
