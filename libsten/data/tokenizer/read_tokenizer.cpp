// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/tokenizer/sentencepiece_tokenizer.h"
#include "libsten/data/tokenizer/vocabulary.h"
#include "libsten/files/gguf/sentencepiece_metadata.h"
#include "libsten/files/gguf/tokenizer_json.h"
#include "libsten/files/system/data_file.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

std::string beside(const std::string& file, const char* name) {
  const fs::path path = fs::path(file).parent_path() / name;
  return fs::is_regular_file(path) ? path.string() : "";
}

// A file that is read as a whole, for the parsers.
struct TextFile {
  explicit TextFile(const std::string& path) : file(open_data(path)), name(printable(path)) {}
  NamedText text() const { return {name, text_of(file.bytes())}; }
  MappedFile file;
  std::string name;
};

TokenizerConfig config_beside(const std::string& file) {
  const std::string path = beside(file, "tokenizer_config.json");
  if (path.empty()) return {};
  const TextFile config(path);
  TokenizerConfig c = TokenizerConfig::parse(config.text());
  config.file.check_unchanged();
  return c;
}

std::shared_ptr<const Tokenizer> read_gguf_tokenizer(const TextFile& main) {
  const GgufFile file = parse_gguf(main.file.bytes(), main.name);
  if (file.text("tokenizer.ggml.model") == "t5") {
    TokenizerConfig config;
    config.adds_bos = file.boolean("tokenizer.ggml.add_bos_token").value_or(false);
    config.adds_eos = file.boolean("tokenizer.ggml.add_eos_token").value_or(true);
    return sentencepiece_tokenizer(gguf_sentencepiece(file, main.name), config, main.name,
                                   main.file.bytes().size());
  }
  const std::string config = gguf_tokenizer_config_json(file, main.name),
                    tokenizer = gguf_tokenizer_json(file, main.name);
  main.file.check_unchanged();
  return parse_tokenizer({main.name, tokenizer}, TokenizerConfig::parse({main.name, config}));
}

}  // namespace

std::string tokenizer_file(const std::string& directory) {
  for (const char* name : {"tokenizer.json", "tokenizer.model", "vocab.txt", "vocab.json"}) {
    const fs::path path = fs::path(directory) / name;
    if (fs::is_regular_file(path)) return path.string();
  }
  return "";
}

std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& path) {
  std::error_code error;
  std::string file = path;
  if (fs::is_directory(path, error)) {
    file = tokenizer_file(path);
    if (file.empty())
      fail("{}: tokenizer.json, tokenizer.model, vocab.txt or vocab.json not found",
           printable(path));
  }
  const TextFile main(file);
  if (is_gguf(main.file.bytes())) return read_gguf_tokenizer(main);
  const std::string_view all = main.text().text;
  const bool is_json = all.find_first_not_of(" \t\r\n") != std::string_view::npos &&
                       all[all.find_first_not_of(" \t\r\n")] == '{' && !file.ends_with(".txt");
  const std::string merges = is_json ? beside(file, "merges.txt") : "";
  std::shared_ptr<Tokenizer> t;
  std::vector<std::pair<std::string, std::string>> files;
  if (file.ends_with(".model")) {
    t = sentencepiece_tokenizer(parse_sentencepiece(main.file.bytes(), main.name),
                                config_beside(file), main.name, all.size());
    files = {{"tokenizer.model", file}};
  } else if (is_json && fs::path(file).filename() == "tokenizer.json") {
    t = parse_tokenizer(main.text(), config_beside(file));
    files = {{"tokenizer.json", file}};
  } else if (is_json && !merges.empty()) {
    const TextFile second(merges);
    t = parse_byte_pair_encoding(main.text(), second.text(), config_beside(file));
    second.file.check_unchanged();
    files = {{"vocab.json", file}, {"merges.txt", merges}};
  } else if (is_json || file.ends_with(".json")) {
    t = std::make_shared<Vocabulary>(Vocabulary::parse(main.file.bytes(), file));
    files = {{"vocab.json", file}};
  } else {
    t = parse_word_piece(main.text(), config_beside(file));
    files = {{"vocab.txt", file}};
  }
  main.file.check_unchanged();
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"})
    if (const std::string other = beside(file, name); !other.empty())
      files.emplace_back(name, other);
  t->files_ = std::move(files);
  return t;
}

}  // namespace sten
