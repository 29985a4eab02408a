#include "libsten/train/recipe_tokenizer.h"

#include "libsten/base/error.h"

namespace sten {

std::shared_ptr<const Tokenizer> recipe_tokenizer(const Recipe& r, Index vocabulary,
                                                  const std::string& model) {
  auto t = read_tokenizer(r.data.vocabulary);
  if (t->size() > vocabulary)
    fail("{}: has ids up to {}, and {} {}", t->name(), t->size() - 1, model, vocabulary);
  return t;
}

}  // namespace sten
