// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/batch/batch_companions.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "libsten/core/base/name_list.h"
#include "libsten/files/checkpoint/companion_files.h"
#include "libsten/files/checkpoint/config_dtype.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/checkpoint/shards.h"
#include "libsten/files/system/atomic_file.h"
#include "libsten/files/system/data_file.h"
#include "libsten/files/system/paths.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

bool same_bytes(std::span<const std::byte> a, const std::string& path) {
  return std::ranges::equal(a, MappedFile::open(path).bytes());
}

}  // namespace

std::span<const std::byte> BatchCompanions::Source::bytes(const MappedFile& file) const {
  return text.empty() ? file.bytes() : std::as_bytes(std::span(text));
}

BatchCompanions::BatchCompanions(const std::vector<std::string>& inputs,
                                 const std::string& directory, bool force,
                                 std::optional<DType> dtype)
    : directory_(directory) {
  std::set<std::string> folders, left;
  for (const std::string& input : inputs)
    if (!is_stream(input) && !is_sharded(input)) folders.insert(fs::path(input).parent_path());
  for (const std::string& folder : folders)
    for (const NamedCompanion& c : named_companions(folder)) {
      const auto [at, is_new] = sources_.emplace(c.name, Source{c.path});
      if (!is_new && !same_bytes(MappedFile::open(at->second.path).bytes(), c.path))
        left.insert(c.name);
    }
  if (const auto config = sources_.find("config.json"); dtype && config != sources_.end()) {
    const MappedFile file = open_data(config->second.path);
    config->second.text = with_dtype(std::string(text_of(file.bytes())), *dtype, file.name());
  }
  std::erase_if(sources_, [&](const auto& entry) {
    const auto& [name, source] = entry;
    if (left.contains(name)) return true;
    const fs::path to = fs::path(directory_) / name;
    std::error_code none;
    if (!fs::exists(to, none)) return false;
    const MappedFile file = MappedFile::open(source.path);
    const bool is_equal = fs::is_regular_file(to, none) && same_bytes(source.bytes(file), to);
    if (!is_equal && !force) left.insert(name);
    return is_equal || !force;
  });
  left_.assign(left.begin(), left.end());
}

void BatchCompanions::copy() const {
  for (const auto& [name, source] : sources_) {
    const MappedFile from = MappedFile::open(source.path);
    OutputFile out(fs::path(directory_) / name, true);
    out.write(source.bytes(from));
    from.check_unchanged();
    out.commit();
  }
}

std::vector<std::string> BatchCompanions::notes() const {
  std::vector<std::string> lines, names;
  for (const auto& [name, path] : sources_) names.push_back(name);
  if (!names.empty()) lines.push_back("companion files: " + name_list(names));
  if (!left_.empty())
    lines.push_back(
        "companion files left behind, since models or the output directory have different ones: " +
        name_list(left_));
  return lines;
}

}  // namespace sten
