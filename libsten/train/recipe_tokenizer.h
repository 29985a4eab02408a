// The tokenizer of a recipe's text.
#pragma once
#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// Error with the file where it has more ids than `vocabulary`, those of `model`.
std::shared_ptr<const Tokenizer> recipe_tokenizer(const Recipe& r, Index vocabulary,
                                                  const std::string& model);
// Error (usage) where the train split, of so many tokens, has no window, for which it takes `least`.
void check_train_split(const DataRecipe& d, Index tokens, Index least);

}  // namespace sten
