// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/rewrite/batch_manifest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "libsten/core/base/hash.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/version.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/checkpoint/companion_files.h"
#include "libsten/files/checkpoint/other_weights.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/system/atomic_file.h"
#include "libsten/files/system/checksum_manifest.h"
#include "libsten/files/system/locked_directory.h"
#include "libsten/files/system/paths.h"
#include "libsten/training/trainer/run_files.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* schema_key = "sten_batch";

std::map<std::string, BatchEntry> read_entries(const std::string& path) {
  std::error_code none;
  const fs::file_status status = fs::symlink_status(path, none);
  if (!fs::exists(status)) return {};
  if (!fs::is_regular_file(status))
    fail("{}: expected a regular file, the manifest of a batch (remove the file)", printable(path));
  try {
    const Json manifest = read_manifest(path);
    const JsonReader json(manifest, path, Fault::input);
    json.check_keys({schema_key, "outputs"});
    if (const Index schema = json[schema_key].integer(); schema != 1)
      fail("{}: expected {} 1, got {}", printable(path), schema_key, schema);
    std::map<std::string, BatchEntry> entries;
    for (const auto& [name, e] : json["outputs"].members())
      entries[name] = {e["program"].text(), e["input"].text(), e["options"].texts(),
                       e["output"].text()};
    return entries;
  } catch (const Error& e) {
    throw Error(e.fault(), fmt::format("{} (without this manifest, outputs count as unknown)",
                                       std::string_view(e.what())));
  }
}

// In segments, so that memory stays bounded.
std::uint64_t hash_file(std::uint64_t hash, const MappedFile& file) {
  constexpr std::size_t piece = std::size_t{64} << 20;
  const auto bytes = file.bytes();
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::size_t n = std::min(piece, bytes.size() - at);
    hash = hash_bytes(hash, bytes.subspan(at, n));
    file.drop(at, at + n);
  }
  return hash;
}

std::uint64_t hash_name(std::uint64_t hash, const std::string& name) {
  return hash_bytes(hash, std::as_bytes(std::span(name)));
}

std::string text_of(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string lacking(const std::vector<std::string>& of, const std::vector<std::string>& in) {
  std::vector<std::string> out;
  for (const std::string& o : of)
    if (!std::ranges::count(in, o)) out.push_back(o);
  return out.empty() ? "none" : fmt::format("{}", fmt::join(out, " "));
}

}  // namespace

BatchEntry entry_of(const std::string& program, const Options& options,
                    const std::vector<SideInput>& reads, bool keep_other_weights) {
  BatchEntry e{program, "", option_texts(options), ""};
  const auto add = [&](const std::string& flag, const std::string& checksum) {
    e.options.push_back(flag + "_checksum=" + checksum);
  };
  for (const auto& [flag, path, kind] : reads) {
    if (path.empty() || is_stream(path) || kind == SideInput::rules) continue;
    const bool is_checkpoint = kind == SideInput::checkpoint && is_sharded(path);
    add(flag.substr(2), is_checkpoint ? checkpoint_checksum(path, false) : data_checksum(path));
    if (kind == SideInput::data && path.ends_with(".json"))  // a recipe names the data
      for (const auto& [key, file] : inputs_of(path, {})) add(key, data_checksum(file));
  }
  if (keep_other_weights) e.options.push_back("keep_other_weights=true");
  return e;
}

std::string difference(const BatchEntry& now, const BatchEntry& then) {
  if (now.program != then.program)
    return fmt::format("program: expected {}, got {}", now.program, then.program);
  if (now.options != then.options) {
    std::string a = lacking(now.options, then.options), b = lacking(then.options, now.options);
    if (a == b) {  // the order is compared, too
      a = fmt::format("{}", fmt::join(now.options, " "));
      b = fmt::format("{}", fmt::join(then.options, " "));
    }
    return fmt::format("options: expected {}, got {}", a, b);
  }
  if (!now.input.empty() && now.input != then.input)
    return fmt::format("input checksum: expected {}, got {}", now.input, then.input);
  return "";
}

std::string checkpoint_checksum(const std::string& path, bool keep_other_weights) {
  const Checkpoint in = Checkpoint::open(path);
  std::uint64_t hash = 0;
  for (const Shard& s : in.shards())
    if (!s.is_temporary) hash = hash_file(hash_name(hash, s.file_name), s.file);
  if (const auto& index = in.index()) {
    const fs::path directory = index->directory;
    if (!index->index.empty()) hash = hash_file(hash, MappedFile::open(directory / index->index));
    const std::vector<std::string> left = left_behind(*index, keep_other_weights).names();
    for (const CompanionFile& c : companion_files(*index, left)) {
      hash = hash_name(hash, c.name);
      if (c.kind == CompanionFile::file)
        hash = hash_file(hash, MappedFile::open(directory / c.name));
    }
  }
  return text_of(hash);
}

std::string data_checksum(const std::string& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) return text_of(hash_of_text(dump_json(list_files(path))));
  return text_of(hash_file(0, MappedFile::open(path)));
}

BatchManifest::BatchManifest(const std::string& directory)
    : directory_(directory),
      path_(fs::path(directory) / batch_manifest_name),
      entries_(read_entries(path_)) {}

BatchManifest::~BatchManifest() {
  try {
    write();
  } catch (const std::exception& e) {
    warn("{}", e.what());
  }
}

const BatchEntry* BatchManifest::find(const std::string& output) const {
  const auto at = entries_.find(output);
  return at == entries_.end() ? nullptr : &at->second;
}

void BatchManifest::add(const std::string& output, BatchEntry entry) {
  const std::lock_guard hold(lock_);
  added_[output] = std::move(entry);
  pending_ = true;
  if (Clock::now() - written_ >= 10 * cost_) write_locked();
}

void BatchManifest::write() {
  const std::lock_guard hold(lock_);
  if (pending_) write_locked();
}

void BatchManifest::write_locked() {
  const auto begin = Clock::now();
  {
    const Fd others = locked_directory(directory_);
    std::map<std::string, BatchEntry> all = read_entries(path_);
    for (const auto& [name, entry] : added_) all[name] = entry;
    Json outputs = Json::object();
    for (const auto& [name, e] : all)
      outputs[name] = {{"program", e.program},
                       {"version", std::string(version())},
                       {"input", e.input},
                       {"options", e.options},
                       {"output", e.output}};
    const std::string text = manifest_text({{schema_key, 1}, {"outputs", std::move(outputs)}});
    OutputFile file(path_, true);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  }
  pending_ = false;
  written_ = Clock::now();
  cost_ = written_ - begin;
}

}  // namespace sten
