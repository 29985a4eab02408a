// SPDX-License-Identifier: Apache-2.0
// The tokenizer of a recipe's text.
#pragma once
#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/training/recipe/recipe.h"

namespace sten {

// Error with the file if it has more ids than `vocabulary`, the ids of `model`.
std::shared_ptr<const Tokenizer> recipe_tokenizer(const Recipe& r, Index vocabulary,
                                                  const std::string& model);
// The first file of the text, and the number of others; printable.
std::string text_name(const DataRecipe& d);
// Error (usage) if the train split of `tokens` tokens is shorter than `least`, a window.
void check_train_split(const DataRecipe& d, Index tokens, Index least);

}  // namespace sten
