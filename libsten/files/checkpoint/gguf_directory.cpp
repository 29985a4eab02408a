#include "libsten/files/checkpoint/gguf_directory.h"

#include <filesystem>

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

NamedJson read_json(const std::string& directory, const char* name) {
  const fs::path path = fs::path(directory) / name;
  const MappedFile file = MappedFile::open(path);
  const auto bytes = file.bytes();
  return {printable(path.string()),
          parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.name(),
                     Fault::input)};
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
  constexpr const char *json = "tokenizer.json", *model = "tokenizer.model",
                       *options = "tokenizer_config.json";
  const NamedJson settings = has_file(directory, options)
                                 ? read_json(directory, options)
                                 : NamedJson{fs::path(directory) / options, nullptr};
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
