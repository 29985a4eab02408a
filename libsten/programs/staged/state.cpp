// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/state.h"

#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/core/base/hash.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/version.h"
#include "libsten/files/system/checksum_manifest.h"
#include "libsten/files/system/locked_directory.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* run_file = "run.json";
constexpr const char* curve_file = "curve.svg";
constexpr const char* stage_file = "stage.json";
constexpr std::string_view stage_prefix = "stage-";
constexpr const char* new_state_advice = "another --state begins a new run";

void write_json(OutputFile& out, const Json& json) {
  const std::string text = manifest_text(json);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

std::string text_of(const Json& identity, const std::string& key) {
  const auto at = identity.find(key);
  return at == identity.end() ? "nothing"
                              : quote(at->is_string() ? at->get<std::string>() : dump_json(*at));
}

// Calls f(); adds advice on how to continue to its errors.
template <class F>
auto advised(const std::string& advice, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(e.fault(), fmt::format("{}; {}", e.what(), advice));
  }
}

// The name of a finished stage in the directory; "" if there is none.
std::string finished_stage(const std::string& path) {
  for (const auto& entry : fs::directory_iterator(path))
    if (const std::string name = entry.path().filename(); name.starts_with(stage_prefix))
      return name;
  return "";
}

}  // namespace

StateDirectory::StateDirectory(const std::string& path, const Options& identity, bool resume)
    : path_(path) {
  check(path, resume);
  lock_ = locked_directory(path);
  check(path, resume);  // another process may have finished a stage meanwhile

  Json run;
  run["schema"] = 1;
  run["program"] = "sten-prune";
  run["version"] = std::string(version());
  for (const auto& [key, value] : identity) {
    Json& at = run["run"][key];
    if (at.is_null())
      at = recorded_text(value);
    else
      at = at.get<std::string>() + "\n" + recorded_text(value);  // a repeated flag
  }
  const fs::path file = fs::path(path) / run_file;
  const bool is_resumed = fs::exists(file);
  const Json old =
      is_resumed ? advised(new_state_advice, [&] { return read_manifest(file); }) : run;
  if (text_of(old, "program") != text_of(run, "program"))
    fail("{}: expected the manifest of a run of sten-prune; {}", printable(file.string()),
         new_state_advice);
  // A run without a finished stage has no results to keep.
  if (finished_stage(path).empty()) {
    OutputFile out(file, is_resumed);
    write_json(out, run);
    return;
  }
  const auto before = old.find("run");
  const Json was = before != old.end() && before->is_object() ? *before : Json::object();
  const Json& now = run["run"];
  for (const Json* side : {&now, &was})
    for (const auto& [key, value] : side->items())
      if (text_of(was, key) != text_of(now, key))
        fail_usage("{}: contains a different run: {} was {}, now is {}; {}", printable(path), key,
                   text_of(was, key), text_of(now, key), new_state_advice);
  if (text_of(old, "version") != text_of(run, "version"))
    fail_usage("{}: contains a run of version {}, this is version {}; {}", printable(path),
               text_of(old, "version"), text_of(run, "version"), new_state_advice);
}

void StateDirectory::check(const std::string& path, bool resume) {
  if (path.empty()) fail_usage("--state: empty directory name");
  check_directory(path);
  if (!fs::exists(path)) return;
  const fs::path file = fs::path(path) / run_file;
  const std::string stage = finished_stage(path);
  if (fs::exists(file)) {
    if (!resume && !stage.empty())
      fail_usage("{}: contains a run; --resume continues, {}", printable(path), new_state_advice);
    return;
  }
  // Without the manifest, the run cannot be identified.
  if (!stage.empty())
    fail("{}: file not found beside {}; {}", printable(file.string()), quote(stage),
         new_state_advice);
  if (fs::exists(fs::symlink_status(fs::path(path) / curve_file)))
    fail_usage("{}: the directory has {}, which no run wrote; {}", printable(path),
               quote(curve_file), new_state_advice);
}

bool StateDirectory::is_own_file(const std::string& name) {
  return name == run_file || name == curve_file || name.starts_with(stage_prefix);
}

std::string StateDirectory::file(std::size_t k, const std::string& name) const {
  return fs::path(path_) / fmt::format("{}{:03}", stage_prefix, k) / name;
}

std::optional<StageManifest> StateDirectory::manifest(std::size_t k) const {
  const std::string path = file(k, stage_file);
  if (!fs::exists(path)) return std::nullopt;
  const fs::path stage = fs::path(path).parent_path();
  const std::string advice =
      fmt::format("--resume does it again once {} and the stages after it are removed",
                  quote(stage.filename().string()));
  const Json json = advised(advice, [&] {
    Json read = read_manifest(path);
    check_files(stage, JsonReader(read, printable(path), Fault::input)["files"], stage_file);
    return read;
  });
  const JsonReader in(json, printable(path), Fault::input);
  StageManifest r;
  const auto maybe = [&](const char* key) {
    return in.has(key) ? std::optional(in[key].real()) : std::nullopt;
  };
  const auto natural = [&](const char* key) { return static_cast<Index>(in[key].natural()); };
  if (in.has("tensor")) r.tensor = in["tensor"].text();
  r.sparsity = in["sparsity"].number();
  if (!(r.sparsity >= 0 && r.sparsity <= 1)) in["sparsity"].fail("must be in [0, 1]");
  r.energy = in["energy"].real();
  r.loss_before = maybe("loss_before");
  r.loss = maybe("loss");
  r.rounds = natural("rounds");
  r.violations = natural("violations");
  r.seconds = in["seconds"].number();
  r.recovered = in["recovered"].truth();
  return r;
}

void StateDirectory::write_curve(const std::string& text) const {
  OutputFile out(fs::path(path_) / curve_file, true);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

std::unique_ptr<OutputDirectory> StateDirectory::new_stage(std::size_t k) const {
  return std::make_unique<OutputDirectory>(
      fs::path(path_) / fmt::format("{}{:03}", stage_prefix, k), false);
}

void write_manifest(const OutputDirectory& stage, const StageManifest& r) {
  Json json;
  if (!r.tensor.empty()) json["tensor"] = r.tensor;
  json["sparsity"] = r.sparsity;
  json["energy"] = real_json(r.energy);
  if (r.loss_before) json["loss_before"] = real_json(*r.loss_before);
  if (r.loss) json["loss"] = real_json(*r.loss);
  json["rounds"] = r.rounds;
  json["violations"] = r.violations;
  json["seconds"] = r.seconds;
  json["recovered"] = r.recovered;
  json["files"] = list_files(stage.file(""));
  const auto out = stage.new_file(stage_file);
  write_json(*out, json);
}

std::string content_hash(const Checkpoint& c) {
  std::uint64_t hash = 0;
  for (const CheckpointTensor& t : c.tensors()) {
    const std::string head =
        fmt::format("{}\n{}\n{}\n{}", t.name, name_of(t.dtype), to_string(t.shape), t.layout.str());
    hash = hash_bytes(hash, std::as_bytes(std::span(head)));
    for (const SafetensorsEntry& e : t.entries) hash = hash_bytes(hash, c.bytes(t, e));
    c.drop(t);
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace sten
