// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/causal_model.h"

#include <algorithm>

#include "libsten/model/nn/decoder.h"
#include "libsten/model/nn/gpt.h"

namespace sten {

bool is_causal_config(std::string_view json, const std::string& what) {
  return is_gpt_config(json, what) || is_decoder_config(json, what);
}

namespace {

// The longest text of a model for texts of up to `tokens` (0: unknown). LongRoPE has other
// frequencies for all tokens of a text that is longer than the original length.
Index positions_of(const DecoderConfig& c, Index tokens) {
  Index positions = c.positions;
  for (const RotaryParameters& r : c.rotary)
    if (r.type == "longrope" && static_cast<double>(tokens) <= r.original_positions)
      positions = std::min(positions, static_cast<Index>(r.original_positions));
  return positions;
}

}  // namespace

CausalModel causal_model(std::string_view json, const std::string& what,
                         const CausalModelParts& parts) {
  if (is_gpt_config(json, what)) {
    const GptConfig c = GptConfig::parse(json, what);
    return {
        gpt(c,
            {.mask = parts.mask, .last = parts.last, .loss = parts.loss, .dropout = parts.dropout}),
        c.vocab_size, c.n_positions, gpt_unused()};
  }
  const DecoderConfig c = DecoderConfig::parse(json, what);
  if (parts.dropout > 0)
    fail_usage("{}: model_type {} is trained without dropout, got {}", what,
               c.architecture->model_type, parts.dropout);
  return {
      decoder(c,
              {.mask = parts.mask, .last = parts.last, .loss = parts.loss, .tokens = parts.tokens}),
      c.vocab_size, positions_of(c, parts.tokens), decoder_unused()};
}

Index positions_of_config(std::string_view json, const std::string& what) {
  return is_gpt_config(json, what) ? GptConfig::parse(json, what).n_positions
                                   : positions_of(DecoderConfig::parse(json, what), 0);
}

}  // namespace sten
