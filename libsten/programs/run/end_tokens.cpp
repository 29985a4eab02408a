// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/end_tokens.h"

#include <filesystem>

#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/text.h"
#include "libsten/model/nn/config_file.h"

namespace sten {

std::vector<std::int64_t> end_tokens(const std::string& config) {
  const auto of_generation =
      std::filesystem::path(config).replace_filename("generation_config.json");
  for (const std::string& path : {of_generation.string(), config}) {
    if (!std::filesystem::is_regular_file(path)) continue;
    const std::string shown = printable(path);
    const auto json = parse_json(read_config(path), shown, Fault::input);
    const JsonReader reader(json, shown, Fault::input);
    if (!reader.has("eos_token_id") || reader["eos_token_id"].json().is_null()) continue;
    const JsonReader ids = reader["eos_token_id"];
    if (!ids.json().is_array()) return {ids.integer()};
    const std::vector<Index> all = ids.integers();
    return {all.begin(), all.end()};
  }
  return {};
}

}  // namespace sten
