// SPDX-License-Identifier: Apache-2.0
// config.json of the model in a GGUF file.
#pragma once
#include <string>

#include "libsten/files/gguf/gguf_file.h"

namespace sten {

// The text of the config.json that transformers would write for the model: architecture, sizes,
// rotary embedding, special tokens, and the dtype of the weights by torch's name. `file_name` starts
// messages. Error for an unknown architecture, for a missing size, and for what the config of the
// architecture cannot express: experts of other architectures than Mixtral, Qwen 2 and 3, sizes per
// layer, an unknown scaling of the rotary embedding, two bases of it in Gemma 2.
std::string gguf_config_json(const GgufFile& file, const std::string& file_name,
                             std::string_view dtype = "float32");

}  // namespace sten
