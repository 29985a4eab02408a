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

CalibrationCache::CalibrationCache(const std::string& directory,
                                   const CalibrationIdentity& identity, std::size_t batches)
    : directory_(directory), name_(printable(directory)) {
  if (directory.empty()) fail_usage("--calibration-cache: empty directory name");
  lock_ = locked_directory(directory);
  check_files();
  identity_ = {{"program", "sten-prune"},
               {"version", std::string(version())},
               {"model", identity.model},
               {"data", identity.data},
               {"options", identity.options}};
  current_.batches.resize(batches);
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
      records = read_state(state, batches);
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
  begin_next();
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

BatchActivations CalibrationCache::load(std::size_t batch) const {
  BatchActivations all;
  for (const StoredTensor& t : current_.batches[batch]) {
    Values values = Values::uninitialized(t.dtype, size_of(t.shape));
    if (const int error = read_all_at(current_.fd.get(), t.offset,
                                      std::span(values.mutate_bytes(), values.bytes().size())))
      fail("{}: {}", printable(path_of(current_.file)), errno_text(error));
    Tensor x = Dense{t.shape, std::move(values)};
    // The dense tensor of a value comes first.
    if (t.is_pruned)
      all.at(t.value).pruned = std::move(x);
    else
      all.emplace(t.value, Activation{std::move(x), std::nullopt});
  }
  return all;
}

void CalibrationCache::begin_next() {
  next_ = {};
  next_.batches.resize(current_.batches.size());
}

void CalibrationCache::store(std::size_t batch, BatchActivations activations) {
  if (!next_.fd) {
    next_.file = unused_file();
    const std::string path = path_of(next_.file);
    next_.fd = Fd(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!next_.fd) fail("{}: {}", printable(path), errno_text(errno));
  }
  const auto add = [&](std::size_t value, bool is_pruned, const Tensor& x) {
    const Dense dense = x.to_dense();
    const std::span bytes(dense.values.bytes().data(), dense.values.bytes().size());
    if (const int error = write_all_at(next_.fd.get(), next_.size, bytes))
      fail("{}: {}", printable(path_of(next_.file)), errno_text(error));
    next_.batches[batch].push_back({value, is_pruned, dense.dtype(), dense.extents, next_.size});
    next_.size += bytes.size();
  };
  for (const auto& [value, a] : activations) {
    add(value, false, a.dense);
    if (a.pruned) add(value, true, *a.pruned);
  }
}

void CalibrationCache::advance(const WalkPoint& point, bool can_resume) {
  std::string before = current_.file;
  point_ = point;
  current_ = std::move(next_);
  begin_next();
  if (can_resume) {
    write_state();
    if (saved_file_ != before) remove(saved_file_);
    saved_file_ = current_.file;
  }
  if (before != saved_file_) remove(before);
}

void CalibrationCache::write_state() const {
  Json state;
  state["of"] = identity_;
  state["node"] = point_.node;
  state["most_bytes"] = point_.most_bytes;
  state["positions"] = point_.positions;
  state["bytes"] = layers_->size();
  state["layers"] = Json::object();
  for (const auto& [name, r] : layers_->records())
    state["layers"][name] = {{"offset", r.offset},
                             {"has_values", r.has_values},
                             {"error_before", real_json(r.error_before)},
                             {"error", real_json(r.error)}};
  state["file"] = current_.file;
  state["batches"] = Json::array();
  for (const auto& batch : current_.batches) {
    Json all = Json::array();
    for (const StoredTensor& t : batch)
      all.push_back({{"value", t.value},
                     {"pruned", t.is_pruned},
                     {"dtype", std::string(name_of(t.dtype))},
                     {"shape", t.shape},
                     {"offset", t.offset}});
    state["batches"].push_back(std::move(all));
  }
  OutputFile out(path_of(state_file), true);
  const std::string text = dump_json(state) + "\n";
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

LayerRecords CalibrationCache::read_state(const Json& state, std::size_t batches) {
  LayerRecords records;
  point_ = {state.at("node").get<std::size_t>(), state.at("most_bytes").get<Index>(),
            state.at("positions").get<Index>()};
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
  current_.file = saved_file_ = state.at("file").get<std::string>();
  const Json& all = state.at("batches");
  for (std::size_t b = 0; b < batches; ++b)
    for (const Json& t : all.at(b))
      current_.batches[b].push_back(
          {t.at("value").get<std::size_t>(), t.at("pruned").get<bool>(),
           dtype_from(t.at("dtype").get<std::string>()).value_or(DType::F32),
           t.at("shape").get<Shape>(), t.at("offset").get<std::uint64_t>()});
  if (current_.file.empty()) return records;
  const std::string path = path_of(current_.file);
  current_.fd = Fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!current_.fd) fail("{}: {}", printable(path), errno_text(errno));
  return records;
}

// Of three names, one is neither that of the current activations nor of those in the state.
std::string CalibrationCache::unused_file() const {
  for (int i = 0;; ++i)
    if (std::string file = fmt::format("{}{}.bin", activations_prefix, i);
        file != current_.file && file != saved_file_)
      return file;
}

void CalibrationCache::remove(const std::string& file) const {
  if (!file.empty()) unlink(path_of(file).c_str());
}

void CalibrationCache::clear() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(directory_))
    if (std::string file = entry.path().filename(); is_of_cache(file))
      files.push_back(std::move(file));
  for (const std::string& file : files) remove(file);
  rmdir(directory_.c_str());
}

}  // namespace sten
