// SPDX-License-Identifier: Apache-2.0
// Companion files of a model in a GGUF file, which has them as metadata.
#pragma once
#include <string>
#include <vector>

#include "libsten/files/gguf/gguf_file.h"

namespace sten {

struct GgufCompanion {
  std::string name, text;
};

// config.json, tokenizer.json and tokenizer_config.json. Warns about a file that cannot be made:
// see gguf/config_json.h and gguf/tokenizer_json.h.
// `dtype`: of the weights in the output.
std::vector<GgufCompanion> gguf_companions(const GgufFile& file, const std::string& file_name,
                                           DType dtype);

// Whether an output of this name is the weights of a Hugging Face directory, with companions beside
// it: model.safetensors or model.sten.safetensors.
bool has_gguf_companions(const std::string& path);

}  // namespace sten
