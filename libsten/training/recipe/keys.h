// SPDX-License-Identifier: Apache-2.0
// The keys of recipes.
#pragma once
#include <string>
#include <vector>

namespace sten {

struct RecipeKey {
  std::string pointer;             // "/sparsity/*/schedule/from", for any element
  std::vector<std::string> kinds;  // kinds of the section that have the key; empty: all
};

// All keys in the order of to_json(); a section precedes its keys.
std::vector<RecipeKey> recipe_keys();

}  // namespace sten
