// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/run_files.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/version.h"
#include "libsten/files/checkpoint/companion_files.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/checkpoint/shards.h"
#include "libsten/files/system/atomic_file.h"
#include "libsten/files/system/checksum_manifest.h"
#include "libsten/files/system/paths.h"
#include "libsten/training/trainer/checkpoint.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view step_prefix = "step-";

// True for a broken link, too.
bool path_exists(const fs::path& path) {
  std::error_code none;
  return fs::symlink_status(path, none).type() != fs::file_type::not_found;
}

// The top-level files that a run of any recipe may write.
const std::vector<std::string>& output_files() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names = {
        "recipe.json",       run_metrics_name,         run_summary_name,    run_curve_name,
        "model.safetensors", "model.sten.safetensors", RunFiles::onnx_file, RunFiles::graph_file};
    for (const CompanionName& c : companion_names()) names.emplace_back(c.name);
    return names;
  }();
  return all;
}

bool is_companion(const std::string& name) {
  return std::ranges::any_of(companion_names(),
                             [&](const CompanionName& c) { return name == c.name; });
}

bool is_written_by(const std::string& name, const Recipe& r) {
  if (name == RunFiles::onnx_file) return r.model.kind == "onnx";
  if (name == RunFiles::graph_file) return r.model.kind == "graph";
  return has_config(r.model) || !is_companion(name);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> inputs_of(const Recipe& r) {
  std::vector<std::pair<std::string, std::string>> all = {
      {"model.weights", r.model.weights}, {"model.config", r.model.config},
      {"model.file", r.model.file},       {"data.file", r.data.file},
      {"data.features", r.data.features}, {"data.labels", r.data.labels}};
  for (const std::string& file : r.data.text) all.emplace_back("data.text", file);
  all.insert(all.end(), {{"data.vocabulary", r.data.vocabulary},
                         {"data.folder", r.data.folder},
                         {"data.test_folder", r.data.test_folder},
                         {"data.test_file", r.data.test_file}});
  if (r.distillation) all.emplace_back("distillation.teacher", r.distillation->teacher);
  for (const auto& [input, file] : r.data.inputs) all.emplace_back("data.inputs." + input, file);
  std::erase_if(all, [](const auto& input) { return input.second.empty(); });
  return all;
}

std::vector<std::pair<std::string, std::string>> inputs_of(const std::string& file,
                                                           const Overrides& overrides) {
  try {
    return inputs_of(read_recipe(file, overrides));
  } catch (const Error&) {
    return {};
  }
}

bool RunFiles::is_own_file(const std::string& name) {
  return std::ranges::count(output_files(), name) > 0 || name == manifest_file ||
         name == checkpoints_folder;
}

RunFiles::RunFiles(std::string directory, std::vector<std::string> data)
    : directory_(std::move(directory)), output_files_(output_files()), data_(std::move(data)) {
  for (const std::string& name : data_) {
    if (is_own_file(name))
      fail_usage("the name {} of the model's external data is a file name of a run", quote(name));
    output_files_.push_back(name);
  }
  if (!path_exists(path(manifest_file))) return;
  const auto manifest = read_manifest(path(manifest_file));
  const JsonReader in(manifest, printable(path(manifest_file)), Fault::input);
  if (in["program"].text() != "sten-train") in["program"].fail("expected \"sten-train\"");
  for (const auto& [name, facts] : in["files"].members()) {
    if (std::ranges::count(output_files_, name) == 0) facts.fail("unknown file of a run");
    files_[name] = facts.json();
  }
  for (const JsonReader& step : in["checkpoints"].elements())
    checkpoints_.insert(static_cast<Index>(step.natural()));
  if (in.has("states"))
    for (const auto& [step, facts] : in["states"].members()) states_[step] = facts.json();
  has_run_ = true;
}

std::string RunFiles::path(const std::string& name) const { return fs::path(directory_) / name; }

std::string RunFiles::checkpoint(Index step) const {
  return fs::path(path(checkpoints_folder)) / fmt::format("{}{:06}", step_prefix, step);
}

bool RunFiles::is_ours(const std::string& name) const {
  const auto at = files_.find(name);
  return at != files_.end() && (at->is_null() || has_facts(path(name), *at));
}

std::string RunFiles::state_of(Index step) const {
  return fs::path(checkpoint(step)) / checkpoint_files().front();
}

bool RunFiles::has_own_state(Index step) const {
  const auto facts = states_.find(std::to_string(step));
  return facts == states_.end() || has_facts(state_of(step), *facts);
}

void RunFiles::check_checkpoint(Index step) const {
  if (!has_own_state(step))
    fail("{}: changed since the file was written", printable(state_of(step)));
}

// Foreign files in a checkpoint of the run, by the checkpoint's manifest.
std::vector<std::string> RunFiles::foreign_in(Index step, bool restarts) const {
  std::vector<std::string> foreign;
  const fs::path folder = checkpoint(step);
  const std::string state = state_of(step);
  const bool is_whole = path_exists(state);  // false: the checkpoint was being removed
  nlohmann::ordered_json files;
  if (restarts && is_whole && has_own_state(step)) {
    try {
      const auto manifest = read_manifest(state);
      files = manifest.value("files", files);
      files[checkpoint_files().front()] = file_facts(state);
    } catch (const Error&) {  // a damaged manifest proves nothing
    }
  }
  std::error_code none;
  for (const auto& file : fs::directory_iterator(folder, none)) {
    const std::string name = file.path().filename();
    const bool is_ours =
        std::ranges::count(checkpoint_files(), name) > 0 &&
        (!restarts || !is_whole || (files.contains(name) && has_facts(file.path(), files[name])));
    if (!is_ours)
      foreign.push_back(
          fmt::format("{}/{}/{}", checkpoints_folder, folder.filename().string(), name));
  }
  return foreign;
}

void RunFiles::check_output_files(const Recipe& recipe, bool restarts) const {
  std::vector<std::string> foreign;
  for (const std::string& name : output_files_)
    if (path_exists(path(name)) && !is_ours(name) &&
        (is_written_by(name, recipe) || files_.contains(name)))
      foreign.push_back(name);
  const std::string folder = path(checkpoints_folder);
  std::error_code none;
  if (path_exists(folder) && !fs::is_directory(folder, none))
    foreign.emplace_back(checkpoints_folder);
  if (fs::is_directory(folder, none))
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      Index step = 0;
      const bool is_step = name.starts_with(step_prefix) &&
                           parse_integer(std::string_view(name).substr(step_prefix.size()), step);
      if (!is_step) continue;
      if (!checkpoints_.contains(step)) {
        foreign.push_back(fmt::format("{}/{}", checkpoints_folder, name));
        continue;
      }
      std::ranges::move(foreign_in(step, restarts), std::back_inserter(foreign));
    }
  if (foreign.empty()) return;
  std::ranges::sort(foreign, natural_less);
  std::string names;
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(foreign.size(), most); ++i)
    names += (i ? ", " : "") + quote(foreign[i]);
  if (foreign.size() > most) names += fmt::format(" and {} more", foreign.size() - most);
  fail_usage("{}: contains files that the run did not write: {}", printable(directory_), names);
}

void RunFiles::check_inputs(const Recipe& recipe) const {
  std::vector<fs::path> written;
  for (const std::string& name : output_files_)
    if (is_written_by(name, recipe) || files_.contains(name))
      written.push_back(resolved(path(name)));
  written.push_back(resolved(path(checkpoints_folder)));
  auto inputs = inputs_of(recipe);
  for (const std::string& name : data_)
    inputs.emplace_back("model.file", fs::path(recipe.model.file).parent_path() / name);
  for (const auto& [key, input] : inputs) {
    fs::path read = resolved(input);
    // An index stands for its directory.
    std::error_code none;
    const bool is_checkpoint = key == "model.weights" || key == "distillation.teacher";
    if (is_checkpoint && is_sharded(input) && !fs::is_directory(read, none))
      read = read.parent_path();
    for (const fs::path& place : written)
      if (read == place || lies_in(read, place) ||
          (fs::is_directory(read, none) && lies_in(place, read)))
        fail_usage("{}: {} {} is inside the run's output and would be overwritten",
                   printable(directory_), key, quote(input));
  }
}

void RunFiles::claim(const std::string& name) {
  files_[name] = nullptr;
  write();
}

void RunFiles::settle(const std::string& name) {
  files_[name] = file_facts(path(name));
  write();
}

void RunFiles::claim_checkpoint(Index step, nlohmann::ordered_json facts) {
  checkpoints_.insert(step);
  states_[std::to_string(step)] = std::move(facts);
  write();
}

void RunFiles::remove_checkpoint(Index step) {
  const std::string folder = checkpoint(step);
  // The state's manifest first: without it, the rest is no checkpoint.
  for (const std::string& name : checkpoint_files()) unlink((fs::path(folder) / name).c_str());
  rmdir(folder.c_str());
  if (path_exists(folder)) {
    warn("{}: not removed: contains files that the run did not write", printable(folder));
    return;
  }
  checkpoints_.erase(step);
  states_.erase(std::to_string(step));
}

void RunFiles::remove_all() {
  for (const Index step : std::set<Index>(checkpoints_)) remove_checkpoint(step);
  rmdir(path(checkpoints_folder).c_str());
  std::vector<std::string> names;
  for (const auto& [name, facts] : files_.items()) names.push_back(name);
  for (const std::string& name : names) {
    unlink(path(name).c_str());
    files_.erase(name);
  }
  write();
}

void RunFiles::write() const {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["program"] = "sten-train";
  json["version"] = std::string(version());
  json["files"] = files_;
  json["checkpoints"] = checkpoints_;
  json["states"] = states_;
  const std::string text = manifest_text(std::move(json));
  OutputFile out(path(manifest_file), true);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

}  // namespace sten
