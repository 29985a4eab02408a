#include "libsten/io/shards.h"

#include <limits.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "libsten/base/json.h"
#include "libsten/base/log.h"
#include "libsten/base/text.h"
#include "libsten/io/mmap.h"
#include "libsten/io/safetensors.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view index_ending = ".safetensors.index.json";

Json parse_index(const MappedFile& file) {
  const auto bytes = file.bytes();
  if (bytes.size() > max_header_bytes)
    fail("{}: the index has {} bytes, more than {}", file.name(), bytes.size(), max_header_bytes);
  Json j = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.name(),
                      Fault::input);
  if (!j.is_object()) fail("{}: is not a JSON object", file.name());
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
    fail("{}: has no object 'weight_map'", file.name());
  out.metadata = "{}";
  if (j.contains("metadata")) {
    if (!j["metadata"].is_object()) fail("{}: 'metadata' is not an object", file.name());
    out.metadata = dump_json(j["metadata"]);
    const Json& metadata = j["metadata"];
    if (metadata.contains("total_size")) {
      if (metadata["total_size"].is_number_unsigned())
        out.total_size = metadata["total_size"].get<std::uint64_t>();
      else
        warn("{}: total_size is not a number of bytes, and is ignored", file.name());
    }
  }
  std::set<std::string> files;
  for (const auto& [name, shard] : j["weight_map"].items()) {
    if (!shard.is_string()) fail("{}: {} is not mapped to a file name", file.name(), quote(name));
    const std::string shard_name = shard.get<std::string>();
    if (shard_name.empty() || shard_name.find('/') != std::string::npos || shard_name == "." ||
        shard_name == ".." || shard_name.size() > NAME_MAX || has_control_characters(shard_name))
      fail("{}: {} is mapped to {}, which is no name of a file in the directory", file.name(),
           quote(name), quote(shard_name));
    files.insert(shard_name);
    out.weight_map.emplace_back(name, shard_name);
  }
  std::map<std::string, std::string> by_lower;
  for (const std::string& f : files) {
    const auto [at, fresh] = by_lower.emplace(lower(f), f);
    if (!fresh)
      fail("{}: shards {} and {} differ by case alone", file.name(), quote(at->second), quote(f));
  }
  for (const std::string& f : files) {
    check_inside(out.directory, f);
    std::error_code error;
    if (!fs::exists(fs::path(out.directory) / f, error))
      fail("{}: shard {} is missing", file.name(), quote(f));
    out.files.push_back(f);
  }
  std::sort(out.files.begin(), out.files.end(), natural_less);
}

}  // namespace

bool is_sharded(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) || path.ends_with(index_ending);
}

ShardIndex find_shards(const std::string& path) {
  ShardIndex out;
  if (path.ends_with(index_ending)) {
    const fs::path index = path;
    out.directory = index.has_parent_path() ? index.parent_path().string() : ".";
    out.index = index.filename();
    read_index(path, out);
    return out;
  }
  out.directory = path;
  std::error_code error;
  std::vector<std::string> singles, indices;
  fs::directory_iterator all(path, error);
  if (error) fail("{}: {}", printable(path), error.message());
  for (const auto& entry : all) {
    const std::string name = entry.path().filename();
    if (name == "model.safetensors" || name == "model.sten.safetensors") singles.push_back(name);
    if (name.ends_with(index_ending)) indices.push_back(name);
  }
  std::sort(singles.begin(), singles.end());
  std::sort(indices.begin(), indices.end());
  if (singles.size() > 1)
    fail("{}: has both {} and {}; name one of them", printable(path), singles[0], singles[1]);
  if (singles.size() == 1) {
    // As other tools do: a single file wins.
    if (!indices.empty())
      warn("{}: {} is read, and index {} is not", printable(path), singles[0], quote(indices[0]));
    out.files = singles;
    out.metadata = "{}";
    check_inside(path, singles[0]);
    return out;
  }
  if (indices.size() > 1)
    fail("{}: has the indices {} and {}; name one of them", printable(path), quote(indices[0]),
         quote(indices[1]));
  if (indices.empty())
    fail("{}: the directory has neither a model.safetensors nor an index *{}", printable(path),
         index_ending);
  out.index = indices[0];
  read_index(fs::path(path) / indices[0], out);
  return out;
}

void check_inside(const std::string& directory, const std::string& name) {
  std::error_code error;
  const fs::path base = fs::canonical(directory, error);
  const fs::path target = fs::weakly_canonical(fs::path(directory) / name, error);
  const auto lies_in = [&](const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), target.begin(), target.end()).first ==
           folder.end();
  };
  // A cache has snapshots/REVISION/FILE -> ../../blobs/HASH.
  const bool snapshot = base.parent_path().filename() == "snapshots";
  if (lies_in(base) || (snapshot && lies_in(base.parent_path().parent_path() / "blobs"))) return;
  fail("{}: {} is a link to a place outside of the directory", printable(directory), quote(name));
}

std::string sten_name(const std::string& file) {
  if (plain_name(file) != file) return file;
  std::size_t cut = file.rfind("-of-");
  // NAME-00001-of-00002.safetensors
  if (cut != std::string::npos) cut = file.rfind('-', cut - 1);
  if (cut == std::string::npos || cut == 0) cut = file.find(".safetensors");
  if (cut == std::string::npos) return file + ".sten";
  return file.substr(0, cut) + ".sten" + file.substr(cut);
}

std::string plain_name(const std::string& file) {
  for (const char* mark : {".sten-", ".sten.safetensors"}) {
    const std::size_t at = file.find(mark);
    if (at != std::string::npos && at > 0) return file.substr(0, at) + file.substr(at + 5);
  }
  return file;
}

}  // namespace sten
