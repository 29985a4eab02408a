// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/gguf_companions.h"

#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/core/base/log.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/files/gguf/config_json.h"
#include "libsten/files/gguf/tokenizer_json.h"
#include "libsten/files/pytorch/globals.h"

namespace sten {

std::vector<GgufCompanion> gguf_companions(const GgufFile& file, const std::string& file_name,
                                           DType dtype) {
  std::vector<GgufCompanion> all;
  const auto add = [&](const char* name, auto make) {
    try {
      all.push_back({name, make(file, file_name)});
    } catch (const Error& e) {
      warn("{} (no {} is written)", e.what(), name);
    }
  };
  add("config.json", [dtype](const GgufFile& f, const std::string& name) {
    return gguf_config_json(f, name, torch_name(dtype));
  });
  if (!has_gguf_tokenizer(file)) {
    warn("{}: the metadata have no tokenizer (no tokenizer.json is written)", file_name);
    return all;
  }
  add("tokenizer.json", gguf_tokenizer_json);
  add("tokenizer_config.json", gguf_tokenizer_config_json);
  return all;
}

bool has_gguf_companions(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  return ending_of(name) == ".safetensors" && plain_name(name) == "model.safetensors";
}

}  // namespace sten
