// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/checksum_manifest.h"

#include <filesystem>

#include "libsten/core/base/hash.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/mmap.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* checksum_key = "checksum";
// Far above the manifest of a run of millions of steps.
constexpr std::size_t max_manifest_bytes = std::size_t{1} << 26;

std::string checksum_of(const Json& object) {
  const std::string text = dump_json(object);
  return hash_text(std::as_bytes(std::span(text)));
}

// Paths of the regular files below a directory, sorted.
std::vector<std::string> files_below(const std::string& directory) {
  std::vector<std::string> all;
  std::error_code error;
  fs::recursive_directory_iterator at(directory, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error))
    if (!at->is_directory())
      all.push_back(at->path().lexically_relative(directory).generic_string());
  if (error) fail("{}: {}", printable(directory), error.message());
  std::ranges::sort(all);
  return all;
}

}  // namespace

std::string hash_text(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", hash_bytes(0, bytes));
}

std::string manifest_text(Json object) {
  object.erase(checksum_key);
  object[checksum_key] = checksum_of(object);
  return dump_json(object, 2) + "\n";
}

Json read_manifest(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  const auto bytes = file.bytes();
  if (bytes.size() > max_manifest_bytes)
    fail("{}: not a manifest: expected at most {}, got {}", file.name(),
         human_bytes(max_manifest_bytes), human_bytes(bytes.size()));
  Json object = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.name(),
                           Fault::input);
  if (!object.is_object()) fail("{}: not a manifest: expected a JSON object", file.name());
  const auto sum = object.find(checksum_key);
  if (sum == object.end()) fail("{}: not a manifest: missing checksum", file.name());
  const Json written = *sum;
  object.erase(checksum_key);
  if (written != checksum_of(object)) fail("{}: changed since the file was written", file.name());
  return object;
}

Json file_facts(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  return {{"bytes", file.bytes().size()}, {"hash", hash_text(file.bytes())}};
}

bool has_facts(const std::string& path, const Json& facts) {
  std::error_code none;
  if (!fs::is_regular_file(path, none) || !facts.is_object()) return false;
  const auto bytes = facts.find("bytes");
  return bytes != facts.end() && *bytes == fs::file_size(path, none) && file_facts(path) == facts;
}

Json list_files(const std::string& directory) {
  Json all = Json::object();
  for (const std::string& name : files_below(directory))
    all[name] = file_facts(fs::path(directory) / name);
  return all;
}

void check_files(const std::string& directory, const JsonReader& list,
                 const std::string& manifest) {
  const auto wanted = list.members();
  const auto path = [&](const std::string& name) { return (fs::path(directory) / name).string(); };
  for (const auto& [name, facts] : wanted) {
    std::error_code none;
    if (!fs::exists(path(name), none)) fail("{}: is missing", printable(path(name)));
    if (!has_facts(path(name), facts.json()))
      fail("{}: changed since the file was written", printable(path(name)));
  }
  for (const std::string& name : files_below(directory))
    if (name != manifest && !list.has(name))
      fail("{}: file not written by the run", printable(path(name)));
}

}  // namespace sten
