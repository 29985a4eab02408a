// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/other_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "libsten/core/base/json.h"
#include "libsten/core/base/name_list.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/run_results.h"
#include "libsten/files/system/mmap.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

// Endings of PyTorch and safetensors files, which many loaders read.
constexpr const char* shared_endings[] = {".safetensors", ".bin", ".pt", ".pth"};
// Endings of weights only.
constexpr const char* weight_endings[] = {
    ".safetensors", ".h5", ".msgpack", ".gguf", ".ggml", ".onnx", ".onnx_data", ".tflite", ".ot"};
// Endings of other files, too, unless the name has one of the words below.
constexpr const char* general_endings[] = {".bin", ".pt", ".pth", ".npz"};
constexpr const char* words[] = {"model", "weights", "consolidated"};
constexpr const char* folders[] = {"onnx", "openvino", "coreml"};

template <std::size_t n>
bool any_of(const char* const (&texts)[n], const auto& f) {
  return std::any_of(std::begin(texts), std::end(texts), f);
}

bool is_adapter(std::string_view file) { return file.starts_with("adapter_"); }

bool is_weight_file(std::string name, bool in_module, bool adapters_too) {
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  constexpr std::string_view index = ".index.json";
  if (name.ends_with(index)) name.resize(name.size() - index.size());
  const auto ends = [&](const char* ending) { return name.ends_with(ending); };
  if ((is_adapter(name) && !adapters_too) || (in_module && any_of(shared_endings, ends)))
    return false;
  return any_of(weight_endings, ends) || name.find(".ckpt") != std::string::npos ||
         (any_of(general_endings, ends) &&
          any_of(words, [&](const char* w) { return name.find(w) != std::string::npos; }));
}

void collect(const ShardIndex& index, const fs::path& relative, std::vector<std::string>& out) {
  const fs::path folder = fs::path(index.directory) / relative;
  std::error_code error;
  const bool in_module = !relative.empty() && relative / "" != index.folder &&
                         fs::exists(folder / "config.json", error);
  const bool of_adapter = is_adapter(index.files.front());
  // Errors are reported when the files are copied.
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename(), path = relative / name;
    if (entry.is_directory(error)) {
      if (any_of(folders, [&](const char* f) { return name == f; }))
        out.push_back(path + "/");
      else if (!entry.is_symlink(error) && !name.starts_with('.') &&
               std::ranges::find(index.beside, path + "/") == index.beside.end())
        collect(index, path, out);
    } else if (path != index.index && std::ranges::find(index.files, path) == index.files.end() &&
               is_weight_file(name, in_module, of_adapter)) {
      out.push_back(path);
    }
  }
}

// Whether the directory has the manifest of a run of sten-train, even an edited one.
bool has_run(const ShardIndex& index) {
  const fs::path record = fs::path(index.directory) / run_manifest_name;
  std::error_code none;
  if (!fs::is_regular_file(record, none)) return false;
  const MappedFile file = MappedFile::open(record);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  if (!is_json(text)) return false;
  const auto json = parse_json(text, file.name());
  return json.is_object() && json.value("program", nlohmann::ordered_json()) == "sten-train";
}

}  // namespace

std::vector<std::string> other_weights(const ShardIndex& index) {
  std::vector<std::string> out;
  collect(index, "", out);
  if (has_run(index))
    std::erase_if(out, [](const std::string& name) {
      return name.starts_with(fmt::format("{}/", run_checkpoints_name));
    });
  std::sort(out.begin(), out.end(), natural_less);
  return out;
}

LeftBehind left_behind(const ShardIndex& index, bool keep_other_weights) {
  LeftBehind left;
  if (!keep_other_weights) left.weights = other_weights(index);
  if (!has_run(index)) return left;
  for (const char* name : {run_checkpoints_name, run_curve_name, run_metrics_name,
                           run_manifest_name, run_summary_name}) {
    const fs::path path = fs::path(index.directory) / name;
    std::error_code none;
    if (fs::exists(path, none))
      left.results.push_back(fs::is_directory(path, none) ? fmt::format("{}/", name) : name);
  }
  return left;
}

std::vector<std::string> LeftBehind::names() const {
  std::vector<std::string> all = weights;
  all.insert(all.end(), results.begin(), results.end());
  return all;
}

std::vector<std::string> LeftBehind::notes() const {
  std::vector<std::string> lines;
  if (!weights.empty())
    lines.push_back("left behind, with the weights of before: " + name_list(weights) +
                    "; --keep-other-weights copies");
  if (!results.empty())
    lines.push_back("left behind, results of training the weights of before: " +
                    name_list(results));
  return lines;
}

}  // namespace sten
