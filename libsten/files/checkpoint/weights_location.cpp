// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/weights_location.h"

#include <algorithm>
#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/weight_names.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using FileNames = std::vector<std::string>;

// Names of weights in one file format.
struct Kind {
  std::string_view index_ending;
  std::vector<const char*> endings;  // of known names
  std::vector<const char*> models;   // known names, in order of preference
  const char* adapter;
};
const Kind kinds[] = {
    {index_ending,
     {".safetensors", ".sten.safetensors"},
     {"model", "diffusion_pytorch_model"},
     "adapter_model"},
    {torch_index_ending, {".bin"}, {"pytorch_model", "diffusion_pytorch_model"}, "adapter_model"},
};

bool is_safetensors_name(const std::string& name) { return name.ends_with(".safetensors"); }
// Whether only PyTorch files have this name; *.bin is ambiguous.
bool is_only_torch_name(const std::string& name) {
  return is_torch_name(name) && !name.ends_with(".bin");
}

struct Folder {
  std::string path;
  FileNames files, indices, folders;  // sorted; indices of any format; folders as "vae/"

  explicit Folder(const std::string& p) : path(p) {
    std::error_code error;
    fs::directory_iterator all(path, error);
    if (error) fail("{}: {}", printable(path), error.message());
    for (const auto& entry : all) {
      const std::string name = entry.path().filename();
      if (is_index_name(name))
        indices.push_back(name);
      else if (name.ends_with(".safetensors") || is_torch_name(name) || is_onnx_name(name) ||
               is_gguf_name(name))
        files.push_back(name);
      else if (!name.starts_with('.') && entry.is_directory(error))
        folders.push_back(name + "/");
    }
    for (FileNames* names : {&files, &indices, &folders}) std::ranges::sort(*names);
  }

  // "STEM.safetensors" or "STEM.sten.safetensors"; empty if neither is there.
  std::string file_called(const std::string& stem, const Kind& kind) const {
    FileNames found;
    for (const char* ending : kind.endings)
      if (std::ranges::binary_search(files, stem + ending)) found.push_back(stem + ending);
    if (found.size() > 1)
      fail("{}: the directory has both {} and {} (name one of them)", printable(path), found[0],
           found[1]);
    return found.empty() ? "" : found[0];
  }

  // A name known to libraries; empty if there is none.
  std::string known(const Kind& kind) const {
    FileNames of_kind;
    std::ranges::copy_if(indices, std::back_inserter(of_kind), [&](const std::string& name) {
      return name.ends_with(kind.index_ending);
    });
    for (const char* stem : kind.models)
      if (std::string file = file_called(stem, kind); !file.empty()) {
        // A single file precedes shards, as in other tools.
        if (!of_kind.empty())
          warn("{}: index {} is ignored, as {} is read", printable(path), quote(of_kind[0]), file);
        return file;
      }
    if (of_kind.size() > 1)
      fail("{}: the directory has the indices {} and {} (name one of them)", printable(path),
           quote(of_kind[0]), quote(of_kind[1]));
    return of_kind.empty() ? file_called(kind.adapter, kind) : of_kind[0];
  }

  // The only file for which `is` is true, or the number of such files.
  template <class F>
  std::pair<std::string, std::size_t> only(F&& is) const {
    FileNames found;
    std::ranges::copy_if(files, std::back_inserter(found), is);
    return {found.empty() ? "" : found[0], found.size()};
  }
};

bool has_weights(const Folder& folder) {
  return !folder.indices.empty() || folder.only(is_safetensors_name).second > 0 ||
         !folder.known(kinds[1]).empty();
}

std::string file_of(const Folder& folder) {
  if (std::string file = folder.known(kinds[0]); !file.empty()) return file;
  const auto [file, count] = folder.only(is_safetensors_name);
  if (count == 1) return file;
  if (count > 1)
    fail(
        "{}: expected model.safetensors or an index, got a directory of {} safetensors files "
        "(name one, such as {})",
        printable(folder.path), count, quote(file));
  if (std::string torch = folder.known(kinds[1]); !torch.empty()) return torch;
  const auto [torch, torches] = folder.only(is_only_torch_name);
  if (torches == 1) return torch;
  const auto [onnx, models] = folder.only(is_onnx_name);
  if (models == 1) return onnx;
  if (std::ranges::binary_search(folder.files, "model.onnx")) return "model.onnx";
  if (models > 1)
    fail("{}: expected model.onnx, got a directory of {} ONNX models (name one, such as {})",
         printable(folder.path), models, quote(onnx));
  // A GGUF file has its own configuration and tokenizer, unlike the directory.
  if (const auto [gguf, parts] = folder.only(is_gguf_name); parts > 0)
    fail("{}: expected weights, got a directory of {} (name the file: {})", printable(folder.path),
         parts == 1 ? "a GGUF file" : fmt::format("{} GGUF files", parts),
         printable((fs::path(folder.path) / gguf).string()));
  fail(
      "{}: expected a directory with a safetensors file, an index *{}, pytorch_model.bin "
      "or an ONNX model",
      printable(folder.path), index_ending);
}

WeightsLocation find_in_pipeline(const Folder& pipeline) {
  const auto path_of = [&](const std::string& name) { return pipeline.path + "/" + name; };
  FileNames all;  // with weights
  std::ranges::copy_if(pipeline.folders, std::back_inserter(all),
                       [&](const std::string& name) { return has_weights(Folder(path_of(name))); });
  if (all.empty())
    fail("{}: expected a safetensors file in a folder of the pipeline", printable(pipeline.path));
  auto chosen = all.size() == 1 ? all.begin() : all.end();
  for (const char* name : {"unet/", "transformer/", "prior/", "decoder/"})
    if (chosen == all.end()) chosen = std::ranges::find(all, name);
  if (chosen == all.end()) {
    std::string text;
    for (const std::string& name : all) text += (text.empty() ? "" : ", ") + quote(name);
    fail("{}: the pipeline has weights in {} (name one of these folders)", printable(pipeline.path),
         text);
  }
  WeightsLocation place{*chosen, file_of(Folder(path_of(*chosen))), {}};
  all.erase(chosen);
  place.beside = std::move(all);
  return place;
}

}  // namespace

WeightsLocation find_weights(const std::string& directory) {
  const Folder folder(directory);
  std::error_code error;
  std::string file = folder.known(kinds[0]);
  if (!file.empty()) return {"", std::move(file), {}};
  if (fs::exists(fs::path(directory) / "model_index.json", error)) return find_in_pipeline(folder);
  return {"", file_of(folder), {}};
}

}  // namespace sten
