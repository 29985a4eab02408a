// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/batch/batch_companions.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "libsten/core/base/name_list.h"
#include "libsten/files/checkpoint/companion_files.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/checkpoint/shards.h"
#include "libsten/files/system/atomic_file.h"
#include "libsten/files/system/paths.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

bool same_bytes(const std::string& a, const std::string& b) {
  return std::ranges::equal(MappedFile::open(a).bytes(), MappedFile::open(b).bytes());
}

}  // namespace

BatchCompanions::BatchCompanions(const std::vector<std::string>& inputs,
                                 const std::string& directory, bool force)
    : directory_(directory) {
  std::set<std::string> folders, left;
  for (const std::string& input : inputs)
    if (!is_stream(input) && !is_sharded(input)) folders.insert(fs::path(input).parent_path());
  for (const std::string& folder : folders)
    for (const NamedCompanion& c : named_companions(folder)) {
      const auto [at, fresh] = sources_.emplace(c.name, c.path);
      if (!fresh && !same_bytes(at->second, c.path)) left.insert(c.name);
    }
  std::erase_if(sources_, [&](const auto& source) {
    const auto& [name, path] = source;
    if (left.contains(name)) return true;
    const fs::path to = fs::path(directory_) / name;
    std::error_code none;
    if (!fs::exists(to, none)) return false;
    const bool is_equal = fs::is_regular_file(to, none) && same_bytes(path, to);
    if (!is_equal && !force) left.insert(name);
    return is_equal || !force;
  });
  left_.assign(left.begin(), left.end());
}

void BatchCompanions::copy() const {
  for (const auto& [name, path] : sources_) {
    const MappedFile from = MappedFile::open(path);
    OutputFile out(fs::path(directory_) / name, true);
    out.copy_at(0, from, 0, from.bytes().size());
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
