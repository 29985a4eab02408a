#include "libsten/io/weights_place.h"

#include <algorithm>
#include <filesystem>

#include "libsten/base/error.h"
#include "libsten/base/log.h"
#include "libsten/base/text.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using FileNames = std::vector<std::string>;

struct Folder {
  std::string path;
  FileNames files, indices, folders;  // sorted: *.safetensors, indices of them, "vae/"

  explicit Folder(const std::string& p) : path(p) {
    std::error_code error;
    fs::directory_iterator all(path, error);
    if (error) fail("{}: {}", printable(path), error.message());
    for (const auto& entry : all) {
      const std::string name = entry.path().filename();
      if (name.ends_with(index_ending))
        indices.push_back(name);
      else if (name.ends_with(".safetensors"))
        files.push_back(name);
      else if (!name.starts_with('.') && entry.is_directory(error))
        folders.push_back(name + "/");
    }
    for (FileNames* names : {&files, &indices, &folders}) std::ranges::sort(*names);
  }

  // "STEM.safetensors" or "STEM.sten.safetensors"; empty if neither is there.
  std::string file_called(const std::string& stem) const {
    FileNames found;
    for (const char* ending : {".safetensors", ".sten.safetensors"})
      if (std::ranges::binary_search(files, stem + ending)) found.push_back(stem + ending);
    if (found.size() > 1)
      fail("{}: has both {} and {}; name one of them", printable(path), found[0], found[1]);
    return found.empty() ? "" : found[0];
  }

  // Named as libraries do; empty if there is none.
  std::string known() const {
    for (const char* stem : {"model", "diffusion_pytorch_model"})
      if (std::string file = file_called(stem); !file.empty()) {
        // As other tools do: a single file wins.
        if (!indices.empty())
          warn("{}: {} is read, and index {} is not", printable(path), file, quote(indices[0]));
        return file;
      }
    if (indices.size() > 1)
      fail("{}: has the indices {} and {}; name one of them", printable(path), quote(indices[0]),
           quote(indices[1]));
    return indices.empty() ? file_called("adapter_model") : indices[0];
  }
};

bool has_weights(const Folder& folder) { return !folder.files.empty() || !folder.indices.empty(); }

std::string file_of(const Folder& folder) {
  if (std::string file = folder.known(); !file.empty()) return file;
  if (folder.files.size() == 1) return folder.files[0];
  if (folder.files.empty())
    fail("{}: the directory has neither a safetensors file nor an index *{}",
         printable(folder.path), index_ending);
  fail(
      "{}: the directory has {} safetensors files, none of them model.safetensors, and no index; "
      "name one, such as {}",
      printable(folder.path), folder.files.size(), quote(folder.files[0]));
}

WeightsPlace find_in_pipeline(const Folder& pipeline) {
  const auto path_of = [&](const std::string& name) { return pipeline.path + "/" + name; };
  FileNames all;  // with weights
  std::ranges::copy_if(pipeline.folders, std::back_inserter(all),
                       [&](const std::string& name) { return has_weights(Folder(path_of(name))); });
  if (all.empty())
    fail("{}: no folder of the pipeline has a safetensors file", printable(pipeline.path));
  auto chosen = all.size() == 1 ? all.begin() : all.end();
  for (const char* name : {"unet/", "transformer/", "prior/", "decoder/"})
    if (chosen == all.end()) chosen = std::ranges::find(all, name);
  if (chosen == all.end()) {
    std::string text;
    for (const std::string& name : all) text += (text.empty() ? "" : ", ") + quote(name);
    fail("{}: the pipeline has weights in {}; name one of these folders", printable(pipeline.path),
         text);
  }
  WeightsPlace place{*chosen, file_of(Folder(path_of(*chosen))), {}};
  all.erase(chosen);
  place.beside = std::move(all);
  return place;
}

}  // namespace

WeightsPlace find_weights(const std::string& directory) {
  const Folder folder(directory);
  std::error_code error;
  std::string file = folder.known();
  if (!file.empty()) return {"", std::move(file), {}};
  if (fs::exists(fs::path(directory) / "model_index.json", error)) return find_in_pipeline(folder);
  return {"", file_of(folder), {}};
}

}  // namespace sten
