#include "libsten/train/run_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "libsten/base/text.h"
#include "libsten/io/atomic_file.h"
#include "libsten/io/locked_directory.h"
#include "libsten/io/mmap.h"
#include "libsten/nn/weights.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* recipe_file = "recipe.json";
constexpr const char* metrics_file = "metrics.jsonl";
constexpr const char* checkpoints_folder = "checkpoints";
constexpr const char* model_file = "model.safetensors";
constexpr const char* state_file = "state.json";
constexpr std::string_view step_prefix = "step-";

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) fail("{}: cannot be read", printable(path.string()));
  return text;
}

std::string shown(const Json& document, const Json::json_pointer& at) {
  return document.contains(at) ? printable(document.at(at).dump()) : "nothing";
}

// The first thing in which two recipes differ; "" if nothing is.
std::string difference(const std::string& before, const std::string& now) {
  if (before == now) return "";
  const Json a = Json::parse(before, nullptr, false), b = Json::parse(now, nullptr, false);
  const Json changes = Json::diff(a, b);
  if (changes.empty()) return "";
  const std::string at = changes.front().at("path").get<std::string>();
  const Json::json_pointer pointer(at);
  return fmt::format("{} was {}, and now is {}", printable(at), shown(a, pointer),
                     shown(b, pointer));
}

Json json_of(const MetricsLine& m) {
  Json j;
  j["step"] = m.step;
  if (!m.split.empty()) j["split"] = m.split;
  j["loss"] = m.loss;
  if (m.accuracy) j["accuracy"] = *m.accuracy;
  if (m.rate) j["rate"] = *m.rate;
  if (m.norm) j["norm"] = *m.norm;
  j["sparsity"] = m.sparsity;
  j["seconds"] = m.seconds;
  return j;
}

// None for a line that was not written to its end.
std::optional<MetricsLine> metrics_line(const std::string& text) {
  const Json j = Json::parse(text, nullptr, false);
  if (!j.is_object() || !j.contains("step")) return std::nullopt;
  MetricsLine m;
  const auto maybe = [&](const char* key) {
    return j.contains(key) ? std::optional(j.at(key).get<double>()) : std::nullopt;
  };
  m.step = j.at("step");
  m.split = j.value("split", "");
  m.loss = maybe("loss").value_or(0);
  m.sparsity = maybe("sparsity").value_or(0);
  m.seconds = maybe("seconds").value_or(0);
  m.accuracy = maybe("accuracy");
  m.rate = maybe("rate");
  m.norm = maybe("norm");
  return m;
}

}  // namespace

RunDirectory::RunDirectory(const std::string& path, const Recipe& recipe, RunMode mode)
    : path_(path) {
  if (path.empty()) fail_usage("--out is missing: the directory that keeps the run");
  lock_ = locked_directory(path);
  begin(to_json(recipe), mode);
  std::error_code error;
  fs::create_directories(this->path(checkpoints_folder), error);
  if (error) fail("{}: {}", printable(path), error.message());
  remove_checkpoints(std::numeric_limits<Index>::max());
  metrics_ =
      Fd(open(this->path(metrics_file).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!metrics_) fail("{}: {}", printable(this->path(metrics_file)), errno_text(errno));
}

void RunDirectory::begin(const std::string& recipe, RunMode mode) {
  const bool has_run = fs::exists(path(recipe_file));
  if (has_run && mode == RunMode::fresh)
    fail_usage("{}: holds a run already; --resume goes on with it, --force begins anew",
               printable(path_));
  if (has_run && mode == RunMode::resume) {
    const std::string different = difference(read_all(path(recipe_file)), recipe);
    if (different.empty()) return;
    fail_usage("{}: holds a run of a different recipe: {}", printable(path_), different);
  }
  if (!has_run && mode != RunMode::replace && !fs::is_empty(path_))
    fail_usage("{}: holds other files, and no run; --force puts a run beside them",
               printable(path_));
  if (has_run) {
    // The recipe last: until it is replaced, the directory is known to hold a run.
    fs::remove_all(path(checkpoints_folder));
    for (const std::string& name :
         {std::string(metrics_file), std::string("summary.json"), std::string("curve.svg"),
          std::string(model_file), sten_name(model_file)})
      fs::remove(path(name));
  }
  write(recipe_file, recipe);
}

std::string RunDirectory::path(const std::string& name) const { return fs::path(path_) / name; }

// ---------------------------------------------------------------------------------- checkpoints

namespace {

std::string checkpoint_name(Index step) { return fmt::format("{}{:06}", step_prefix, step); }

// Of a checkpoint's directory.
std::optional<Index> step_of(const fs::path& directory) {
  const std::string name = directory.filename();
  Index step = 0;
  if (!name.starts_with(step_prefix) || !parse_integer(name.substr(step_prefix.size()), step))
    return std::nullopt;
  return step;
}
// Else it was killed while the directory was removed.
bool is_whole(const fs::path& directory) { return fs::exists(directory / state_file); }

}  // namespace

std::vector<Index> RunDirectory::checkpoints() const {
  std::vector<Index> steps;
  for (const auto& entry : fs::directory_iterator(path(checkpoints_folder)))
    if (const auto step = step_of(entry); step && is_whole(entry)) steps.push_back(*step);
  std::ranges::sort(steps);
  return steps;
}

void RunDirectory::remove_checkpoints(Index keep) {
  const std::vector<Index> whole = checkpoints();
  const std::size_t gone = whole.size() - std::min(whole.size(), static_cast<std::size_t>(keep));
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(path(checkpoints_folder)))
    if (const auto step = step_of(entry);
        step && (!is_whole(entry) || (gone > 0 && *step <= whole[gone - 1])))
      old.push_back(entry.path());
  for (const fs::path& checkpoint : old) {
    fs::remove(checkpoint / state_file);  // first: without it the rest is none
    fs::remove_all(checkpoint);
  }
}

std::optional<TrainCheckpoint> RunDirectory::last_checkpoint(const Graph& g) const {
  const std::vector<Index> steps = checkpoints();
  if (steps.empty()) return std::nullopt;
  return read_checkpoint(fs::path(path(checkpoints_folder)) / checkpoint_name(steps.back()), g);
}

void RunDirectory::add_checkpoint(const Graph& g, const TrainState& state, const RunRecord& record,
                                  Index keep) {
  const fs::path folder = path(checkpoints_folder);
  // The lines up to here are on the disk before what they are cut back to.
  fsync(metrics_.get());
  OutputDirectory to(folder / checkpoint_name(state.step), true);
  write_checkpoint(to, g, state, record);
  to.commit();
  remove_checkpoints(std::max<Index>(keep, 1));
}

// -------------------------------------------------------------------------------------- metrics

void RunDirectory::cut_metrics(Index step) {
  std::ifstream in(path(metrics_file), std::ios::binary);
  std::string line;
  off_t keep = 0;
  while (std::getline(in, line)) {
    const bool is_whole = !in.eof();
    const auto m = metrics_line(line);
    if (!is_whole || !m || m->step > step) break;
    keep += static_cast<off_t>(line.size()) + 1;
  }
  if (ftruncate(metrics_.get(), keep) != 0)
    fail("{}: {}", printable(path(metrics_file)), errno_text(errno));
}

void RunDirectory::log(const MetricsLine& line) {
  const std::string text = json_of(line).dump() + "\n";
  if (const int error = write_all(metrics_.get(), std::as_bytes(std::span(text))))
    fail("{}: {}", printable(path(metrics_file)), errno_text(error));
}

std::vector<MetricsLine> RunDirectory::metrics() const {
  std::ifstream in(path(metrics_file), std::ios::binary);
  std::vector<MetricsLine> all;
  std::string line;
  while (std::getline(in, line))
    if (const auto m = metrics_line(line)) all.push_back(*m);
  return all;
}

// ---------------------------------------------------------------------------------------- files

void RunDirectory::write(const std::string& name, const std::string& text) const {
  OutputFile out(path(name), true);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

void RunDirectory::copy(const std::string& name, const std::string& from) const {
  const MappedFile file = MappedFile::open(from);
  OutputFile out(path(name), true);
  out.write(file.bytes());
  out.commit();
}

std::string RunDirectory::write_model(
    const Graph& g, const NamedValues<Tensor>& weights,
    std::vector<std::pair<std::string, std::string>> metadata) const {
  const bool is_sparse =
      std::ranges::any_of(weights, [](const auto& w) { return !w.second.template is<Dense>(); });
  const std::string name = is_sparse ? sten_name(model_file) : model_file;
  // One of the two, or readers would not know which.
  fs::remove(path(is_sparse ? model_file : sten_name(model_file)));
  save_weights(g, weights, path(name), true, std::move(metadata));
  return path(name);
}

}  // namespace sten
