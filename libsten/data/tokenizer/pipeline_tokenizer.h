// SPDX-License-Identifier: Apache-2.0
// Tokenizers made of exchangeable steps, as a tokenizer.json describes them: normalizer,
// pre-tokenizer, model, decoder.
#pragma once
#include <memory>
#include <optional>

#include "libsten/data/tokenizer/normalizer.h"
#include "libsten/data/tokenizer/pre_tokenizer.h"
#include "libsten/data/tokenizer/subword_model.h"
#include "libsten/data/tokenizer/subword_tokenizer.h"
#include "libsten/data/tokenizer/text_decoder.h"

namespace sten {

struct PipelineSteps {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  // None: decoded text has a blank between subwords.
  std::optional<std::vector<DecoderStep>> decoder;
};

class PipelineTokenizer final : public SubwordTokenizer {
 public:
  PipelineTokenizer(SubwordVocabulary subwords, SubwordOptions common, PipelineSteps steps,
                    std::unique_ptr<const SubwordModel> model);

  std::string_view kind() const override { return model_->kind(); }
  std::string decode(std::span<const TokenId> ids) const override;

 protected:
  std::string_view normalized(std::string_view text, std::string& buffer) const override;
  void append(std::string_view text, bool is_first, SubwordCache& cache,
              std::vector<TokenId>& out) const override;
  bool breaks_at_lines() const override;

 private:
  PipelineSteps steps_;
  std::unique_ptr<const SubwordModel> model_;
};

}  // namespace sten
