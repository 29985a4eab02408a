// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/companion_files.h"

#include <algorithm>
#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/output_manifest.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

// Hidden files and folders of tools.
bool is_private(const std::string& name) {
  return name == ".git" || name == ".cache" || name == output_manifest_name ||
         name == batch_manifest_name;
}

void collect(const ShardIndex& index, const std::vector<std::string>& left,
             const std::string& relative, std::vector<CompanionFile>& out) {
  for (const auto& entry : fs::directory_iterator(fs::path(index.directory) / relative)) {
    const std::string name = fs::path(relative) / entry.path().filename();
    const bool is_weight = name == index.index || std::ranges::count(index.files, name);
    const auto stays = [&](const std::string& n) { return n == name || n == name + "/"; };
    if (is_weight || is_private(entry.path().filename()) || std::ranges::any_of(left, stays))
      continue;
    std::error_code error;
    if (entry.is_symlink(error)) check_inside(index.directory, name);
    const fs::file_status status = entry.status(error);
    if (!fs::status_known(status))
      fail("{}: {}: {}", printable(index.directory), quote(name), error.message());
    const auto kind = fs::is_directory(status)      ? CompanionFile::directory
                      : fs::is_regular_file(status) ? CompanionFile::file
                                                    : CompanionFile::other;
    // A link to a parent directory would never end.
    if (kind == CompanionFile::directory && entry.is_symlink())
      fail("{}: {} links to a directory", printable(index.directory), quote(name));
    out.push_back({name, kind, static_cast<unsigned>(status.permissions()) & 0777});
    if (kind == CompanionFile::directory) collect(index, left, name, out);
  }
}

constexpr CompanionName names[] = {
    {"config.json", false},
    {"generation_config.json", false},
    {"preprocessor_config.json", false},
    {"image_processor_config.json", false},
    {"video_preprocessor_config.json", false},
    {"processor_config.json", false},
    {"tokenizer.json", true},
    {"tokenizer_config.json", true},
    {"tokenizer.model", true},
    {"special_tokens_map.json", true},
    {"added_tokens.json", true},
    {"vocab.json", true},
    {"vocab.txt", true},
    {"merges.txt", true},
    {"spiece.model", true},
    {"sentencepiece.bpe.model", true},
    {"spm.model", true},
    {"source.spm", true},
    {"target.spm", true},
    {"normalizer.json", true},
    {"chat_template.json", true},
    {"chat_template.jinja", true},
};

}  // namespace

std::span<const CompanionName> companion_names() { return names; }

std::vector<NamedCompanion> named_companions(const std::string& directory) {
  std::vector<NamedCompanion> all;
  for (const CompanionName& c : names) {
    const fs::path path = fs::path(directory) / c.name;
    std::error_code none;
    if (fs::is_regular_file(path, none)) all.push_back({c.name, path, c.of_tokenizer});
  }
  const bool is_model = !all.empty() && all.front().name == names[0].name;
  return is_model ? all : std::vector<NamedCompanion>();
}

std::vector<CompanionFile> companion_files(const ShardIndex& index,
                                           const std::vector<std::string>& left) {
  std::vector<CompanionFile> all;
  collect(index, left, "", all);
  std::ranges::sort(all, {}, &CompanionFile::name);
  return all;
}

}  // namespace sten
