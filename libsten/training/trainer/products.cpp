// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/products.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/base/text.h"

namespace sten {

const DenseLibrary& products_of(const Recipe& recipe, std::string_view before) {
  if (!recipe.products.empty()) {
    const DenseLibrary* named = find_dense_library(recipe.products);
    if (!named) fail("/products: cannot load {}", recipe.products);
    return *named;
  }
  const DenseLibrary& fastest = fastest_dense_library();  // reports a slow library
  const DenseLibrary* same = before.empty() ? nullptr : find_dense_library(before);
  return same ? *same : fastest;
}

kernels::Factors device_products_of(const Recipe& recipe, Device device) {
  using kernels::Factors;
  const std::string& name = recipe.device_products;
  if (name.empty()) return Factors::float32;
  const auto factors = factors_from(name);
  if (!factors)
    fail_usage("/device_products: expected float32, tf32 or bfloat16, got {}", quote(name));
  if (device != Device::cpu || factors == Factors::float32) return *factors;
  report_fallback(
      fmt::format("/device_products: {} needs a device (the CPU multiplies in float32)", name));
  return Factors::float32;
}

}  // namespace sten
