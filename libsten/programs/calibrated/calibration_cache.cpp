// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/calibration_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/version.h"
#include "libsten/files/system/atomic_file.h"
#include "libsten/files/system/data_file.h"
#include "libsten/files/system/locked_directory.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char *state_file = "state.json", *layers_file = "layers.bin",
                     *activations_prefix = "activations.", *remedy = "or name another directory";

bool is_of_cache(const std::string& file) {
  return file == state_file || file == layers_file || file.starts_with(activations_prefix) ||
         file.starts_with("." + std::string(state_file));  // of a killed run
}

}  // namespace

CalibrationCache::Activations::Activations(std::string file, int flags, std::size_t count)
    : path(std::move(file)),
      fd(open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0600)),
      batches(count) {
  if (!fd) fail("{}: {}", printable(path), errno_text(errno));
}

CalibrationCache::Activations::~Activations() {
  if (!is_kept) unlink(path.c_str());
}

CalibrationCache::CalibrationCache(const std::string& directory,
                                   const CalibrationIdentity& identity, std::size_t batches)
    : directory_(directory), name_(printable(directory)), batches_(batches) {
  if (directory.empty()) fail_usage("--calibration-cache: empty directory name");
  lock_ = locked_directory(directory);
  check_files();
  identity_ = {{"program", "sten-prune"},
               {"version", std::string(version())},
               {"model", identity.model},
               {"data", identity.data},
               {"options", identity.options}};
  const std::string path = path_of(state_file);
  const bool is_resumed = fs::exists(path);
  std::uint64_t size = 0;
  LayerRecords records;
  if (is_resumed) {
    const MappedFile text = open_data(path);
    const Json state = parse_json(text_of(text.bytes()), printable(path), Fault::input);
    try {
      for (const auto& [key, value] : identity_.items())
        if (state.at("of").at(key) != value)
          fail_usage(
              "{}: contains a different calibration: expected the same {} (remove the "
              "directory, {})",
              name_, key, remedy);
      size = state.at("bytes").get<std::uint64_t>();
      records = read_state(state);
    } catch (const nlohmann::json::exception&) {
      fail("{}: expected the state of a calibration (remove the directory, {})", printable(path),
           remedy);
    }
  }
  const std::string layers = path_of(layers_file);
  Fd fd(open(layers.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
    fail("{}: {}", printable(layers), errno_text(errno));
  layers_.emplace(std::move(fd), printable(layers), size, std::move(records));
  if (!is_resumed) write_state();
  remove_unused();
}

std::string CalibrationCache::path_of(const std::string& file) const {
  return (fs::path(directory_) / file).string();
}

void CalibrationCache::check_files() const {
  for (const auto& entry : fs::directory_iterator(directory_))
    if (const std::string file = entry.path().filename(); !is_of_cache(file))
      fail_usage("{}: expected an empty directory or a calibration cache, found {}", name_,
                 quote(file));
}

BatchActivations CalibrationCache::load(WalkedModel model, std::size_t batch) const {
  BatchActivations all;
  const std::shared_ptr<Activations>& file = of(model).current;
  if (!file) return all;
  for (const StoredTensor& t : file->batches[batch]) {
    Values values = Values::uninitialized(t.dtype, size_of(t.shape));
    if (const int error = read_all_at(file->fd.get(), t.offset,
                                      std::span(values.mutate_bytes(), values.bytes().size())))
      fail("{}: {}", printable(file->path), errno_text(error));
    all.emplace(t.value, Dense{t.shape, std::move(values)});
  }
  return all;
}

void CalibrationCache::store(WalkedModel model, std::size_t batch, BatchActivations activations) {
  std::shared_ptr<Activations>& file = of(model).next;
  if (!file) file = std::make_shared<Activations>(unused_path(), O_CREAT | O_TRUNC, batches_);
  for (const auto& [value, x] : activations) {
    const Dense dense = x.to_dense();
    const std::span bytes(dense.values.bytes().data(), dense.values.bytes().size());
    if (const int error = write_all_at(file->fd.get(), file->size, bytes))
      fail("{}: {}", printable(file->path), errno_text(error));
    file->batches[batch].push_back({value, dense.dtype(), dense.extents, file->size});
    file->size += bytes.size();
  }
}

void CalibrationCache::advance(const std::optional<WalkPoint>& resumed) {
  const std::shared_ptr<Activations> dense_before = dense_.current;
  for (Model* m : {&pruned_, &dense_})
    if (m->next) m->current = std::exchange(m->next, nullptr);
  if (!resumed) return;
  point_ = *resumed;
  const std::shared_ptr<Activations> before[] = {std::exchange(pruned_.saved, pruned_.current),
                                                 std::exchange(dense_.saved, dense_before)};
  // If this fails, either state may be in the directory.
  for (const auto& file : {pruned_.saved, dense_.saved})
    if (file) file->is_kept = true;
  write_state();
  for (const auto& file : before)
    if (file && file != pruned_.saved && file != dense_.saved) file->is_kept = false;
}

void CalibrationCache::write_state() const {
  Json state;
  state["of"] = identity_;
  state["node"] = point_.node;
  state["most_bytes"] = point_.most_bytes;
  state["positions"] = point_.positions;
  if (point_.dense_node) state["dense_node"] = *point_.dense_node;
  state["bytes"] = layers_->size();
  state["layers"] = Json::object();
  for (const auto& [name, r] : layers_->records())
    state["layers"][name] = {{"offset", r.offset},
                             {"has_values", r.has_values},
                             {"error_before", real_json(r.error_before)},
                             {"error", real_json(r.error)}};
  for (const auto& [key, model] : {std::pair("pruned", &pruned_), std::pair("dense", &dense_)}) {
    Json& file = state[key];
    if (!model->saved) continue;
    file["file"] = fs::path(model->saved->path).filename().string();
    file["batches"] = Json::array();
    for (const auto& batch : model->saved->batches) {
      Json all = Json::array();
      for (const StoredTensor& t : batch)
        all.push_back({{"value", t.value},
                       {"dtype", std::string(name_of(t.dtype))},
                       {"shape", t.shape},
                       {"offset", t.offset}});
      file["batches"].push_back(std::move(all));
    }
  }
  OutputFile out(path_of(state_file), true);
  const std::string text = dump_json(state) + "\n";
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

LayerRecords CalibrationCache::read_state(const Json& state) {
  LayerRecords records;
  point_ = {state.at("node").get<std::size_t>(), state.at("most_bytes").get<Index>(),
            state.at("positions").get<Index>()};
  if (state.contains("dense_node")) point_.dense_node = state.at("dense_node").get<std::size_t>();
  for (const auto& [name, r] : state.at("layers").items()) {
    // NaN is a string.
    const auto real = [&, &r = r](const char* key) {
      return r.at(key).is_number() ? r.at(key).get<double>()
                                   : std::numeric_limits<double>::quiet_NaN();
    };
    records.emplace(name,
                    LayerRecord{r.at("offset").get<std::uint64_t>(), r.at("has_values").get<bool>(),
                                real("error_before"), real("error")});
  }
  for (const auto& [key, model] : {std::pair("pruned", &pruned_), std::pair("dense", &dense_)})
    model->saved = model->current = read_activations(state.at(key));
  return records;
}

std::shared_ptr<CalibrationCache::Activations> CalibrationCache::read_activations(
    const Json& state) const {
  if (state.is_null()) return nullptr;
  auto file =
      std::make_shared<Activations>(path_of(state.at("file").get<std::string>()), 0, batches_);
  file->is_kept = true;
  const Json& all = state.at("batches");
  for (std::size_t b = 0; b < batches_; ++b)
    for (const Json& t : all.at(b))
      file->batches[b].push_back({t.at("value").get<std::size_t>(),
                                  dtype_from(t.at("dtype").get<std::string>()).value_or(DType::F32),
                                  t.at("shape").get<Shape>(), t.at("offset").get<std::uint64_t>()});
  return file;
}

bool CalibrationCache::is_used(const std::string& path) const {
  for (const Model* m : {&pruned_, &dense_})
    for (const auto& file : {m->saved, m->current, m->next})
      if (file && file->path == path) return true;
  return false;
}

// Removes activations that a killed run left.
void CalibrationCache::remove_unused() const {
  std::vector<std::string> unused;
  for (const auto& entry : fs::directory_iterator(directory_))
    if (const std::string file = entry.path().filename();
        file.starts_with(activations_prefix) && !is_used(path_of(file)))
      unused.push_back(path_of(file));
  for (const std::string& path : unused) unlink(path.c_str());
}

// A name that no file in use has.
std::string CalibrationCache::unused_path() const {
  for (int i = 0;; ++i) {
    std::string path = path_of(fmt::format("{}{}.bin", activations_prefix, i));
    if (!is_used(path)) return path;
  }
}

void CalibrationCache::clear() {
  pruned_ = dense_ = {};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(directory_))
    if (std::string file = entry.path().filename(); is_of_cache(file))
      files.push_back(std::move(file));
  for (const std::string& file : files) unlink(path_of(file).c_str());
  rmdir(directory_.c_str());
}

}  // namespace sten
