// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/shards.h"

#include <limits.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "libsten/core/base/json.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/files/checkpoint/weights_location.h"
#include "libsten/files/system/mmap.h"
#include "libsten/files/system/paths.h"
#include "libsten/files/tensors/safetensors.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json parse_index(const MappedFile& file) {
  const auto bytes = file.bytes();
  if (bytes.size() > max_header_bytes)
    fail("{}: index: expected at most {} bytes, got {}", file.name(), max_header_bytes,
         bytes.size());
  Json j = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.name(),
                      Fault::input);
  if (!j.is_object()) fail("{}: expected a JSON object", file.name());
  return j;
}

std::string lower(std::string s) {
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return s;
}

void read_index(const std::string& path, ShardIndex& out) {
  const MappedFile file = MappedFile::open(path);
  const Json j = parse_index(file);
  if (!j.contains("weight_map") || !j["weight_map"].is_object())
    fail("{}: missing object 'weight_map'", file.name());
  out.metadata = "{}";
  if (j.contains("metadata")) {
    if (!j["metadata"].is_object()) fail("{}: 'metadata': expected an object", file.name());
    out.metadata = dump_json(j["metadata"]);
    const Json& metadata = j["metadata"];
    if (metadata.contains("total_size")) {
      if (metadata["total_size"].is_number_unsigned())
        out.total_size = metadata["total_size"].get<std::uint64_t>();
      else
        warn("{}: total_size is ignored: expected a count of bytes", file.name());
    }
  }
  std::set<std::string> files;
  for (const auto& [name, shard] : j["weight_map"].items()) {
    if (!shard.is_string()) fail("{}: {}: expected a file name", file.name(), quote(name));
    const std::string shard_name = shard.get<std::string>();
    if (shard_name.empty() || shard_name.find('/') != std::string::npos || shard_name == "." ||
        shard_name == ".." || shard_name.size() > NAME_MAX || has_control_characters(shard_name))
      fail("{}: {}: expected the name of a file in the directory, got {}", file.name(), quote(name),
           quote(shard_name));
    files.insert(out.folder + shard_name);
    out.weight_map.emplace_back(name, out.folder + shard_name);
  }
  std::map<std::string, std::string> by_lower;
  for (const std::string& f : files) {
    const auto [at, fresh] = by_lower.emplace(lower(f), f);
    if (!fresh)
      fail("{}: shards {} and {} differ only by case", file.name(), quote(at->second), quote(f));
  }
  for (const std::string& f : files) {
    check_inside(out.directory, f);
    std::error_code error;
    if (!fs::exists(fs::path(out.directory) / f, error))
      fail("{}: missing shard {}", file.name(), quote(f));
    out.files.push_back(f);
  }
  std::sort(out.files.begin(), out.files.end(), natural_less);
}

}  // namespace

bool is_sharded(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) || is_index_name(path);
}

ShardIndex find_shards(const std::string& path) {
  ShardIndex out;
  if (is_index_name(path)) {
    const fs::path index = path;
    out.directory = index.has_parent_path() ? index.parent_path().string() : ".";
    out.index = index.filename();
    read_index(path, out);
    return out;
  }
  const WeightsLocation place = find_weights(path);
  out.directory = path;
  out.folder = place.folder;
  out.beside = place.beside;
  const std::string file = place.folder + place.file;
  if (place.is_index()) {
    out.index = file;
    read_index(fs::path(path) / file, out);
  } else {
    out.files = {file};
    out.metadata = "{}";
    check_inside(path, file);
  }
  return out;
}

std::string part_taken(const ShardIndex& index) {
  if (index.folder.empty()) return "";
  std::string text = fmt::format("took {} of the pipeline", printable(index.folder));
  for (std::size_t i = 0; i < index.beside.size(); ++i)
    text += fmt::format("{}{}", i ? ", " : ", not ", printable(index.beside[i]));
  return text;
}

void check_inside(const std::string& directory, const std::string& name) {
  std::error_code error;
  const fs::path base = fs::canonical(directory, error);
  const fs::path target = fs::weakly_canonical(fs::path(directory) / name, error);
  const auto lies_in = [&](const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), target.begin(), target.end()).first ==
           folder.end();
  };
  if (lies_in(base)) return;
  // A cache has snapshots/REVISION/FILE -> ../../blobs/HASH, and folders in REVISION.
  for (fs::path p = base.parent_path(); p.has_relative_path(); p = p.parent_path())
    if (p.filename() == "snapshots" && lies_in(p.parent_path() / "blobs")) return;
  fail("{}: {} links to a file outside the directory", printable(directory), quote(name));
}

}  // namespace sten
