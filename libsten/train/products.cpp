#include "libsten/train/products.h"

#include "libsten/base/error.h"

namespace sten {

const DenseLibrary& products_of(const Recipe& recipe, std::string_view before) {
  if (!recipe.products.empty()) {
    const DenseLibrary* named = find_dense_library(recipe.products);
    if (!named) fail("/products: {} cannot be loaded here", recipe.products);
    return *named;
  }
  const DenseLibrary& fastest = fastest_dense_library();  // it says where that is slow
  const DenseLibrary* same = before.empty() ? nullptr : find_dense_library(before);
  return same ? *same : fastest;
}

}  // namespace sten
