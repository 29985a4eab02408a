// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/recipe_difference.h"

#include "libsten/core/base/json.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

std::string shown(const Json& document, const Json::json_pointer& at) {
  return document.contains(at) ? printable(dump_json(document.at(at))) : "nothing";
}

}  // namespace

std::optional<RecipeDifference> recipe_difference(std::string_view before, const std::string& file,
                                                  const std::string& now) {
  const Json a = parse_json(before, file, Fault::input);
  const Json b = parse_json(now, "the recipe"), changes = Json::diff(a, b);
  if (changes.empty()) return std::nullopt;
  const std::string at = changes.front().at("path").get<std::string>();
  const Json::json_pointer pointer(at);
  return RecipeDifference{printable(at), shown(a, pointer), shown(b, pointer)};
}

}  // namespace sten
