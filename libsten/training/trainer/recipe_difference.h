// SPDX-License-Identifier: Apache-2.0
// Difference of two recipes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace sten {

// Texts for messages; "nothing" for a missing key.
struct RecipeDifference {
  std::string key, before, now;
};

// The first difference of two recipes as written by to_json(). Error with `file` if the first is
// not JSON.
std::optional<RecipeDifference> recipe_difference(std::string_view before, const std::string& file,
                                                  const std::string& now);

}  // namespace sten
