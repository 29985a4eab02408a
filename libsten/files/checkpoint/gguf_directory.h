// SPDX-License-Identifier: Apache-2.0
// Metadata of a GGUF output from the files of a Hugging Face directory.
#pragma once
#include <string>
#include <vector>

#include "libsten/files/gguf/model_metadata.h"

namespace sten {

struct GgufDirectory {
  NamedJson config;  // config.json
  GgufModel model;
  std::vector<float> rotary_factors;  // of llama3_factors()
};

// Adds what config.json says. Error with the file.
GgufDirectory add_directory_model(const std::string& directory, GgufMetadata& to);

// Adds the tokenizer in tokenizer.json or tokenizer.model, with tokenizer_config.json and
// chat_template.jinja if they exist; without a tokenizer, warns. `vocabulary`: rows of the
// embedding. Error with the file.
void add_directory_tokenizer(const std::string& directory, const NamedJson& config,
                             std::size_t vocabulary, GgufMetadata& to);

}  // namespace sten
