// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/weight_names.h"

#include <filesystem>

#include "libsten/files/system/paths.h"

namespace sten {
namespace {

// The position of ".sten" in a file name.
std::size_t sten_mark(const std::string& file) {
  const std::size_t begin = file.rfind('/') + 1;
  for (const char* mark : {".sten-", ".sten.safetensors"}) {
    const std::size_t at = file.find(mark, begin);
    if (at != std::string::npos && at > begin) return at;
  }
  return std::string::npos;
}

}  // namespace

std::string ending_of(const std::string& path) {
  std::string_view name = path;
  while (name.ends_with('/')) name.remove_suffix(1);
  std::string ending = std::filesystem::path(name).extension();
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return ending;
}

bool is_index_name(std::string_view file) {
  return file.ends_with(index_ending) || file.ends_with(torch_index_ending);
}

bool is_torch_name(std::string_view file) {
  for (const std::string_view ending : {".bin", ".pt", ".pth", ".ckpt"})
    if (file.ends_with(ending)) return true;
  return false;
}

bool is_onnx_name(const std::string& path) {
  return ending_of(path) == ".onnx" && !is_stream(path);
}

bool is_gguf_name(const std::string& path) {
  return ending_of(path) == ".gguf" && !is_stream(path);
}

std::string safetensors_name(const std::string& file, bool writes_graph) {
  const std::size_t begin = file.rfind('/') + 1;
  // pytorch_model-00001-of-00002.bin, model.pt
  constexpr std::string_view index = ".index.json", library = "pytorch_model";
  const std::string stem = file.substr(0, file.size() - (file.ends_with(index) ? index.size() : 0));
  if (is_torch_name(stem)) {
    std::string name = stem.substr(0, stem.rfind('.')) + ".safetensors" + file.substr(stem.size());
    return name.compare(begin, library.size(), library) == 0 ? name.erase(begin, 8) : name;
  }
  if (is_gguf_name(file)) return file.substr(0, begin) + "model.safetensors";
  if (!writes_graph && is_onnx_name(file)) return file.substr(0, file.rfind('.')) + ".safetensors";
  return file;
}

std::string sten_name(const std::string& from) {
  if (sten_mark(from) != std::string::npos) return from;
  const std::string file = plain_name(from);
  const std::size_t begin = file.rfind('/') + 1;  // folders are unchanged
  std::size_t cut = file.rfind("-of-");
  // NAME-00001-of-00002.safetensors
  if (cut != std::string::npos && cut > begin) cut = file.rfind('-', cut - 1);
  if (cut == std::string::npos || cut <= begin) cut = file.find(".safetensors", begin);
  if (cut == std::string::npos) return file + ".sten";
  return file.substr(0, cut) + ".sten" + file.substr(cut);
}

std::string plain_name(const std::string& from) {
  const std::string file = safetensors_name(from, false);
  const std::size_t mark = sten_mark(file);
  return mark == std::string::npos ? file : file.substr(0, mark) + file.substr(mark + 5);
}

}  // namespace sten
