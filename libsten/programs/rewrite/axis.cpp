// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/rewrite/axis.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "libsten/core/base/json.h"
#include "libsten/model/nn/weights.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view conv1d_types[] = {"gpt2", "openai-gpt", "imagegpt",
                                             "decision_transformer"};
constexpr std::string_view conv1d_names[] = {"c_attn.weight", "c_proj.weight", "c_fc.weight",
                                             "q_attn.weight"};

// The model_type of a Hugging Face config.json; "" if the file cannot be read.
std::string model_type(const std::string& input) {
  std::error_code none;
  const fs::path folder =
      fs::is_directory(input, none) ? fs::path(input) : fs::path(input).parent_path();
  const fs::path path = folder / "config.json";
  constexpr std::uintmax_t most = 1 << 20;
  if (input == "-" || !fs::is_regular_file(path, none) || fs::file_size(path, none) > most)
    return "";
  try {
    const MappedFile file = MappedFile::open(path.string());
    const auto bytes = file.bytes();
    const auto config = parse_json(
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), file.name());
    if (config.is_object() && config.contains("model_type") && config["model_type"].is_string())
      return config["model_type"].get<std::string>();
  } catch (const Error&) {  // not an error of this input
  }
  return "";
}

}  // namespace

std::string axis_text(Index axis) {
  return axis == 0 ? "down columns (axis 0)" : "along rows (axis 1)";
}

std::vector<bool> in_by_out(const Checkpoint& c, const std::string& input) {
  const auto& tensors = c.tensors();
  std::vector<bool> found(tensors.size());
  if (c.is_onnx()) {
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = tensors[i].in_by_out;
    return found;
  }
  // Metadata of save_weights() name transposed weights.
  for (const Shard& s : c.shards())
    for (const auto& [key, value] : s.metadata)
      if (key == orientation_key) return found;
  bool wide = false;  // some c_attn compute queries, keys and values from rows
  for (std::size_t i = 0; i < found.size(); ++i) {
    const CheckpointTensor& t = tensors[i];
    found[i] =
        t.shape.size() == 2 &&
        std::any_of(std::begin(conv1d_names), std::end(conv1d_names), [&](std::string_view name) {
          return t.name == name || t.name.ends_with("." + std::string(name));
        });
    wide |= found[i] && t.name.ends_with("c_attn.weight") && t.shape[1] == 3 * t.shape[0];
  }
  if (std::find(found.begin(), found.end(), true) == found.end()) return found;
  const std::string type = model_type(input);
  const bool known =
      std::find(std::begin(conv1d_types), std::end(conv1d_types), type) != std::end(conv1d_types);
  if (!known && (!type.empty() || !wide)) found.assign(found.size(), false);
  return found;
}

bool has_default_axis(const Spec& spec) {
  return axis_of(spec) && !spec.has("axis") && !spec.has("dims");
}

Spec for_matrix(const Spec& spec, bool is_in_by_out) {
  return is_in_by_out && has_default_axis(spec) ? transposed_structure(spec) : spec;
}

std::vector<std::string> axis_notes(const std::vector<std::optional<Spec>>& specs,
                                    const std::vector<bool>& are_in_by_out) {
  std::map<std::pair<std::string, bool>, Index> counts;
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (specs[i] && axis_of(*specs[i]))
      ++counts[{
          fmt::format("{} runs {}", as_structure(*specs[i]).name(), axis_text(*axis_of(*specs[i]))),
          are_in_by_out[i]}];
  std::vector<std::string> notes;
  for (const auto& [key, n] : counts)
    notes.push_back(
        key.second ? fmt::format("{} of {} matri{} [in, out]", key.first, n, n == 1 ? "x" : "ces")
                   : key.first);
  return notes;
}

}  // namespace sten
