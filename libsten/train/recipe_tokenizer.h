// The tokenizer of a recipe's text.
#pragma once
#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// Error with the file where it has more ids than `vocabulary`, those of `model`.
std::shared_ptr<const Tokenizer> recipe_tokenizer(const Recipe& r, Index vocabulary,
                                                  const std::string& model);

}  // namespace sten
