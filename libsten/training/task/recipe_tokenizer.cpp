// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/recipe_tokenizer.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {

std::shared_ptr<const Tokenizer> recipe_tokenizer(const Recipe& r, Index vocabulary,
                                                  const std::string& model) {
  auto t = read_tokenizer(r.data.vocabulary);
  if (t->size() > vocabulary)
    fail("{}: ids up to {} are out of range: {} {}", t->name(), t->size() - 1, model, vocabulary);
  return t;
}

std::string text_name(const DataRecipe& d) {
  const std::string first = printable(d.text.front());
  return d.text.size() == 1 ? first : fmt::format("{} and {} more", first, d.text.size() - 1);
}

void check_train_split(const DataRecipe& d, Index tokens, Index least) {
  if (tokens < least)
    fail_usage(
        "{}: the train split of {} tokens is shorter than a window of {} (see data.train, "
        "data.window)",
        text_name(d), tokens, d.window);
}

}  // namespace sten
