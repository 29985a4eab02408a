// In what two recipes differ.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace sten {

// Texts for messages; "nothing" where a recipe does not have the key.
struct RecipeDifference {
  std::string key, before, now;
};

// The first one of two recipes as to_json() writes them. Error that names `file` where the first is
// no JSON.
std::optional<RecipeDifference> recipe_difference(std::string_view before, const std::string& file,
                                                  const std::string& now);

}  // namespace sten
