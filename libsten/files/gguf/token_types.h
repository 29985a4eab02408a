// SPDX-License-Identifier: Apache-2.0
// Types of tokens in "tokenizer.ggml.token_type", llama.cpp's llama_token_type, and scores.
#pragma once
#include <cstdint>

namespace sten {

inline constexpr std::int32_t normal_token = 1, unknown_token = 2, control_token = 3,
                              user_defined_token = 4, unused_token = 5, byte_token = 6;
// Scores of tokens that no merge makes.
inline constexpr float unused_score = -10000, added_score = -1000;

}  // namespace sten
