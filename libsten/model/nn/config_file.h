// SPDX-License-Identifier: Apache-2.0
// The config.json of a model: a file, or the metadata of a GGUF file.
#pragma once
#include <string>

namespace sten {

// The text of the config.json `path`, or, for a GGUF file, of the one that transformers would write
// for its model (files/gguf/config_json.h). Error (input) with the file.
std::string read_config(const std::string& path);

}  // namespace sten
