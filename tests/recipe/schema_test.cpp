// SPDX-License-Identifier: Apache-2.0
// recipes/schema.json and the parser accept the same recipes.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "libsten/training/recipe/keys.h"
#include "libsten/training/recipe/recipe.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Json = nlohmann::ordered_json;
// By JSON pointer: the kinds that have the key, empty for all.
using Keys = std::map<std::string, std::set<std::string>>;

const std::filesystem::path recipes = std::filesystem::path(STEN_SOURCE_DIR) / "recipes";

std::string text_of(const std::filesystem::path& path) {
  std::stringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

class SchemaKeys {
 public:
  explicit SchemaKeys(const Json& schema) : schema_(schema) { walk(schema, ""); }
  Keys keys;

 private:
  void walk(const Json& at, const std::string& pointer) {
    if (at.contains("$ref")) {
      const auto ref = at["$ref"].get<std::string>();
      return walk(schema_.at(Json::json_pointer(ref.substr(1))), pointer);
    }
    if (at.contains("items")) walk_items(at["items"], pointer);
    if (at.contains("properties")) walk_properties(at, pointer);
    if (at.contains("oneOf") && !at.contains("properties")) walk_kinds(at["oneOf"], pointer);
  }
  void walk_items(const Json& items, const std::string& pointer) {
    if (items.is_object()) walk(items, pointer + "/*");
  }
  void walk_properties(const Json& at, const std::string& pointer) {
    for (const auto& [key, value] : at["properties"].items()) {
      keys[pointer + "/" + key];
      walk(value, pointer + "/" + key);
    }
    // Unknown keys are refused.
    CHECK(at.value("additionalProperties", true) == false);
  }
  void walk_kinds(const Json& variants, const std::string& pointer) {
    Keys of;
    std::size_t kinds = 0;
    for (const Json& v : variants) {
      if (!v.contains("properties")) continue;
      walk_properties(v, pointer);
      if (!v["properties"].contains("kind")) continue;
      const Json& kind = v["properties"]["kind"];
      for (const Json& one : kind.contains("enum") ? kind["enum"] : Json{kind["const"]}) {
        ++kinds;
        for (const auto& property : v["properties"].items())
          of[pointer + "/" + property.key()].insert(one.get<std::string>());
      }
    }
    for (const auto& [key, which] : of)
      if (which.size() < kinds) keys[key] = which;
  }

  const Json& schema_;
};

}  // namespace

TEST_CASE("the recipe schema and the parser have the same keys for the same kinds") {
  const Json schema = Json::parse(text_of(recipes / "schema.json"));
  const Keys in_schema = SchemaKeys(schema).keys;
  Keys known;
  for (const RecipeKey& k : recipe_keys()) known[k.pointer] = {k.kinds.begin(), k.kinds.end()};
  for (const auto& k : known) {
    CAPTURE(k.first);
    REQUIRE(in_schema.contains(k.first));
    CHECK(in_schema.at(k.first) == k.second);
  }
  for (const auto& k : in_schema) {
    CAPTURE(k.first);
    CHECK(known.contains(k.first));
  }
}

TEST_CASE("every recipe parses, and the input files of those in recipes/ itself exist") {
  int count = 0, nested = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(recipes)) {
    if (file.path().extension() != ".json" || file.path().filename() == "schema.json") continue;
    if (!Json::parse(text_of(file.path())).contains("$schema")) continue;  // of a model
    CAPTURE(file.path().string());
    const Recipe r = read_recipe(file.path().string());
    CHECK(r.name == file.path().stem().string());
    // Those in folders start from models and data of the user.
    if (file.path().parent_path() != recipes) {
      ++nested;
      continue;
    }
    ++count;
    std::vector<std::string> paths{r.model.config, r.model.weights, r.data.file, r.data.vocabulary};
    paths.insert(paths.end(), r.data.text.begin(), r.data.text.end());
    for (const std::string& path : paths) {
      CAPTURE(path);
      CHECK((path.empty() || std::filesystem::exists(path)));
    }
  }
  CHECK(count > 0);
  CHECK(nested > 0);
}

TEST_CASE("the parser accepts and rejects the cases of schema_cases.json") {
  const Json cases = Json::parse(
      text_of(std::filesystem::path(STEN_SOURCE_DIR) / "tests/recipe/schema_cases.json"));
  const std::string file = (recipes / (cases["changed"].get<std::string>() + ".json")).string();
  for (const bool refused : {true, false})
    for (const Json& c : cases[refused ? "refused" : "accepted"]) {
      const std::string change = c[0].get<std::string>() + "=" + c[1].dump();
      CAPTURE(change);
      const std::string error = error_of([&] { read_recipe(file, {change}); });
      CAPTURE(error);
      CHECK(error.empty() != refused);
    }
}
