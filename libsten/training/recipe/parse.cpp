// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/text.h"
#include "libsten/files/system/data_file.h"
#include "libsten/training/recipe/overrides.h"
#include "libsten/training/recipe/section_reader.h"

namespace sten {
namespace {

// Far above any recipe; a larger file is something else.
constexpr std::size_t most_bytes = std::size_t{1} << 24;

}  // namespace

Recipe parse_recipe(std::string_view json, const std::string& file, const Overrides& overrides) {
  const std::string what = printable(file);
  nlohmann::ordered_json document = parse_json(json, what);
  JsonOrigins origins;
  apply_overrides(document, overrides, origins);
  const std::filesystem::path path = std::filesystem::absolute(file).lexically_normal();
  const JsonReader root(document, what, &origins);
  Recipe r;
  recipe_detail::SectionReader(root, what, path.parent_path()).read(r);
  std::error_code none;
  if (std::filesystem::is_directory(r.model.config, none)) r.model.config += "/config.json";
  if (r.name.empty()) r.name = recorded_text(path.stem().string());
  // The exception names the key.
  const Index steps = r.steps;
  if (steps > 0) r = root.read([&] { return in_steps(std::move(r), steps); });
  return r;
}

Recipe read_recipe(const std::string& path, const Overrides& overrides) {
  const MappedFile file = open_data(path);
  if (file.bytes().size() > most_bytes)
    fail("{}: {} are too much for a recipe", printable(path), human_bytes(file.bytes().size()));
  return parse_recipe(text_of(file.bytes()), path, overrides);
}

}  // namespace sten
