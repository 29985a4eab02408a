// What keys a recipe may have.
#pragma once
#include <string>
#include <vector>

namespace sten {

struct RecipeKey {
  std::string pointer;             // "/sparsity/*/schedule/from", of any element
  std::vector<std::string> kinds;  // the section's kinds that have it; empty: all
};

// In the order in which to_json() writes them; a section comes before what is in it.
std::vector<RecipeKey> recipe_keys();

}  // namespace sten
