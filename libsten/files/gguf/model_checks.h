// SPDX-License-Identifier: Apache-2.0
// Models that llama.cpp computes otherwise than transformers.
#pragma once
#include "libsten/files/gguf/model_config.h"

namespace sten {

// Error for a value in config.json that a GGUF file cannot express, or that llama.cpp replaces by its
// own: the activation, scales of attention, biases, experts, and parameters of rotary embeddings.
void check_gguf_model(const GgufModelConfig& config);

}  // namespace sten
