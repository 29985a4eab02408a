// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/run_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/output_name.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/files/system/checksum_manifest.h"
#include "libsten/files/system/data_file.h"
#include "libsten/files/system/locked_directory.h"
#include "libsten/files/system/overwrite.h"
#include "libsten/model/nn/weights.h"
#include "libsten/training/trainer/recipe_difference.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* recipe_file = "recipe.json";
constexpr const char* metrics_file = run_metrics_name;

Json json_of(const MetricsLine& m) {
  Json j;
  j["step"] = m.step;
  if (!m.split.empty()) j["split"] = m.split;
  if (m.has_loss) j["loss"] = real_json(m.loss);
  if (m.accuracy) j["accuracy"] = *m.accuracy;
  if (m.f1) j["f1"] = *m.f1;
  if (m.rate) j["rate"] = *m.rate;
  if (m.norm) j["norm"] = real_json(*m.norm);
  j["sparsity"] = m.sparsity;
  j["seconds"] = m.seconds;
  return j;
}

MetricsLine metrics_line(const std::string& text, const std::string& what) {
  const Json j = parse_json(text, what, Fault::input);
  const JsonReader in(j, what, Fault::input);
  MetricsLine m;
  const auto maybe = [&](const char* key) {
    return in.has(key) ? std::optional(in[key].real()) : std::nullopt;
  };
  m.step = static_cast<Index>(in["step"].natural());
  if (in.has("split")) m.split = in["split"].text();
  m.has_loss = in.has("loss");
  m.loss = maybe("loss").value_or(0);
  m.sparsity = maybe("sparsity").value_or(0);
  m.seconds = maybe("seconds").value_or(0);
  m.accuracy = maybe("accuracy");
  m.f1 = maybe("f1");
  m.rate = maybe("rate");
  m.norm = maybe("norm");
  return m;
}

}  // namespace

RunDirectory::RunDirectory(const std::string& path, const Recipe& recipe, RunMode mode,
                           std::vector<std::string> data)
    : path_(path), data_(std::move(data)) {
  if (path.empty()) fail_usage("--out: missing output directory");
  check(path, recipe, mode, data_);
  lock_ = locked_directory(path);
  begin(recipe, mode);
  std::error_code error;
  fs::create_directories(this->path(RunFiles::checkpoints_folder), error);
  if (error) fail("{}: {}", printable(path), error.message());
  // A killed run may have left checkpoints that a newer one replaced.
  remove_checkpoints(recipe.keep_checkpoints);
  metrics_ =
      Fd(open(this->path(metrics_file).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!metrics_) fail("{}: {}", printable(this->path(metrics_file)), errno_text(errno));
}

void RunDirectory::check(const std::string& path, const Recipe& recipe, RunMode mode,
                         const std::vector<std::string>& data) {
  const std::string text = to_json(recipe);  // reports what cannot be written
  if (!path.empty()) check_directory(path);
  if (!fs::exists(path)) {
    if (!path.empty()) check_output_name(path, Written::directory);
    return;
  }
  const RunFiles files(path, data);
  const std::string recipe_path = fs::path(path) / recipe_file;
  if (files.has_run() && mode == RunMode::fresh)
    fail_usage("{}: contains a run (--resume continues the run, {} replaces the run)",
               printable(path), overwrite_option);
  if (files.has_run() && mode == RunMode::resume && fs::exists(recipe_path)) {
    const MappedFile before = open_data(recipe_path);
    if (const auto d = recipe_difference(text_of(before.bytes()), before.name(), text))
      fail_usage(
          "{}: contains a run of a different recipe: {} was {}, now is {} ({} replaces the run)",
          printable(path), d->key, d->before, d->now, overwrite_option);
  }
  if (!files.has_run() && mode != RunMode::replace && !fs::is_empty(path))
    fail_usage("{}: contains other files and no run ({} adds a run beside the files)",
               printable(path), overwrite_option);
  files.check_inputs(recipe);
  files.check_output_files(recipe, mode == RunMode::replace);
}

void RunDirectory::begin(const Recipe& recipe, RunMode mode) {
  check(path_, recipe, mode, data_);
  files_.emplace(path_, data_);
  if (mode == RunMode::resume && files_->has_run()) {
    if (fs::exists(path(recipe_file))) return;
    // A run that was interrupted before its first checkpoint has no results to keep.
    if (!checkpoints().empty()) fail("{}: is missing", printable(path(recipe_file)));
  }
  if (files_->has_run()) files_->remove_all();
  files_->claim(metrics_file);
  write(recipe_file, to_json(recipe));
}

std::string RunDirectory::path(const std::string& name) const { return fs::path(path_) / name; }

std::string RunDirectory::checkpoint(Index step) const { return files_->checkpoint(step); }

// ---------------------------------------------------------------------------------- checkpoints

// Otherwise the process was killed while the checkpoint was created or removed.
static bool is_whole(const std::string& checkpoint) {
  return fs::exists(fs::path(checkpoint) / checkpoint_files().front());
}

std::vector<Index> RunDirectory::checkpoints() const {
  std::vector<Index> steps;
  for (const Index step : files_->checkpoints())
    if (is_whole(files_->checkpoint(step))) steps.push_back(step);
  return steps;
}

void RunDirectory::remove_checkpoints(Index keep) {
  const std::vector<Index> whole = checkpoints();
  const std::size_t gone = whole.size() - std::min(whole.size(), static_cast<std::size_t>(keep));
  std::vector<Index> old;
  for (const Index step : files_->checkpoints())
    if (!is_whole(files_->checkpoint(step)) || (gone > 0 && step <= whole[gone - 1]))
      old.push_back(step);
  for (const Index step : old) files_->remove_checkpoint(step);
}

std::optional<TrainCheckpoint> RunDirectory::last_checkpoint(const Graph& g) const {
  const std::vector<Index> steps = checkpoints();
  if (steps.empty()) return std::nullopt;
  TrainCheckpoint last = read_checkpoint(files_->checkpoint(steps.back()), g);
  files_->check_checkpoint(steps.back());
  return last;
}

void RunDirectory::add_checkpoint(const Graph& g, const TrainState& state,
                                  const RunManifest& manifest, Index keep) {
  // Syncs the metrics before the checkpoint that records their size.
  fsync(metrics_.get());
  RunManifest with_metrics = manifest;
  const MappedFile lines = MappedFile::open(path(metrics_file));
  with_metrics.metrics_bytes = lines.bytes().size();
  with_metrics.metrics_hash = hash_text(lines.bytes());
  OutputDirectory to(files_->checkpoint(state.step), false);
  write_checkpoint(to, g, state, with_metrics);
  files_->claim_checkpoint(state.step, file_facts(to.file(checkpoint_files().front())));
  to.commit();
  remove_checkpoints(keep);
}

// -------------------------------------------------------------------------------------- metrics

void RunDirectory::cut_metrics(const RunManifest* checkpoint) {
  const std::uint64_t keep = checkpoint ? checkpoint->metrics_bytes : 0;
  if (checkpoint) {
    const MappedFile file = MappedFile::open(path(metrics_file));
    if (file.bytes().size() < keep ||
        hash_text(file.bytes().first(keep)) != checkpoint->metrics_hash)
      fail("{}: changed since the file was written", file.name());
  }
  if (ftruncate(metrics_.get(), static_cast<off_t>(keep)) != 0)
    fail("{}: {}", printable(path(metrics_file)), errno_text(errno));
}

void RunDirectory::log(const MetricsLine& line) {
  const std::string text = dump_json(json_of(line)) + "\n";
  if (const int error = write_all(metrics_.get(), std::as_bytes(std::span(text))))
    fail("{}: {}", printable(path(metrics_file)), errno_text(error));
}

std::vector<MetricsLine> RunDirectory::metrics() const {
  std::ifstream in(path(metrics_file), std::ios::binary);
  std::vector<MetricsLine> all;
  for (std::string line; std::getline(in, line);)
    all.push_back(metrics_line(
        line, fmt::format("{}: line {}", printable(path(metrics_file)), all.size() + 1)));
  return all;
}

// ---------------------------------------------------------------------------------------- files

void RunDirectory::write(const std::string& name, const std::string& text) {
  files_->claim(name);
  OutputFile out(path(name), true);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
  files_->settle(name);
}

std::string RunDirectory::write_model(const Graph& g, const NamedValues<Tensor>& weights,
                                      std::vector<std::pair<std::string, std::string>> metadata,
                                      bool in_by_out, const NamedValues<Tensor>& others) {
  const bool is_sparse =
      std::ranges::any_of(weights, [](const auto& w) { return !w.second.template is<Dense>(); });
  const std::string name = is_sparse ? sten_name(run_model_name) : run_model_name;
  files_->claim(name);
  save_weights(g, weights, path(name), true, std::move(metadata), in_by_out && !is_sparse, others);
  files_->settle(name);
  return path(name);
}

std::string RunDirectory::write_onnx(const Graph& g, const NamedValues<Tensor>& weights,
                                     const Checkpoint& model) {
  std::vector<std::string> names = data_;
  names.emplace_back(RunFiles::onnx_file);
  for (const std::string& name : names) files_->claim(name);
  save_onnx(g, weights, model, path(RunFiles::onnx_file), true);
  for (const std::string& name : names) files_->settle(name);
  return path(RunFiles::onnx_file);
}

}  // namespace sten
