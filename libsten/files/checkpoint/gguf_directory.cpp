// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/gguf_directory.h"

#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/core/base/json.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/files/gguf/sentencepiece_metadata.h"
#include "libsten/files/system/mmap.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

bool has_file(const std::string& directory, const char* name) {
  std::error_code none;
  return fs::exists(fs::path(directory) / name, none);
}

std::string read_text(const std::string& directory, const char* name) {
  const MappedFile file = MappedFile::open(fs::path(directory) / name);
  const auto bytes = file.bytes();
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  file.check_unchanged();
  return text;
}

NamedJson read_json(const std::string& directory, const char* name) {
  const std::string shown = printable((fs::path(directory) / name).string());
  return {shown, parse_json(read_text(directory, name), shown, Fault::input)};
}

// tokenizer_config.json, or null, with the template in chat_template.jinja, which comes first.
NamedJson read_settings(const std::string& directory) {
  constexpr const char *name = "tokenizer_config.json", *chat = "chat_template.jinja";
  NamedJson settings{printable((fs::path(directory) / name).string()), nullptr};
  if (has_file(directory, name)) settings = read_json(directory, name);
  if (!has_file(directory, chat)) return settings;
  if (settings.json.is_null()) settings.json = nlohmann::ordered_json::object();
  if (!settings.json.is_object()) fail("{}: expected a JSON object", settings.name);
  settings.json["chat_template"] = read_text(directory, chat);
  return settings;
}

}  // namespace

GgufDirectory add_directory_model(const std::string& directory, GgufMetadata& to) {
  GgufDirectory d{read_json(directory, "config.json"), {}, {}};
  d.model = add_model_metadata(d.config, to);
  d.rotary_factors = llama3_factors(d.config);
  return d;
}

void add_directory_tokenizer(const std::string& directory, const NamedJson& config,
                             std::size_t vocabulary, GgufMetadata& to) {
  constexpr const char *json = "tokenizer.json", *model = "tokenizer.model";
  const NamedJson settings = read_settings(directory);
  if (has_file(directory, json)) {
    add_tokenizer_metadata(read_json(directory, json), settings, config, vocabulary, to);
  } else if (has_file(directory, model)) {
    const MappedFile file = MappedFile::open(fs::path(directory) / model);
    add_sentencepiece_metadata(parse_sentencepiece(file.bytes(), file.name()), file.name(),
                               settings, config, vocabulary, to);
    file.check_unchanged();
  } else {
    warn("{}: expected {} or {}: the GGUF file has no tokenizer", printable(directory), json,
         model);
    to.add("tokenizer.ggml.model", "no_vocab");
  }
}

}  // namespace sten
