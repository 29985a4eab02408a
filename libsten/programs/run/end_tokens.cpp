#include "libsten/programs/run/end_tokens.h"

#include <filesystem>

#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/data_file.h"

namespace sten {

std::vector<std::int64_t> end_tokens(const std::string& directory) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    const auto path = std::filesystem::path(directory) / name;
    if (!std::filesystem::is_regular_file(path)) continue;
    const MappedFile file = open_data(path.string());
    const std::string shown = printable(path.string());
    const auto json = parse_json(text_of(file.bytes()), shown, Fault::input);
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
