// SPDX-License-Identifier: Apache-2.0
// Library and precision of the dense products of a run.
#pragma once
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/compute/product/device_gemm.h"
#include "libsten/core/base/device.h"
#include "libsten/training/recipe/recipe.h"

namespace sten {

// The library of the recipe; Error if it does not load. By default the library that a resumed run
// recorded as `before`, in any version; if there is none or it does not load, the fastest.
const DenseLibrary& products_of(const Recipe& recipe, std::string_view before = {});

// The product precision of the recipe on `device`: float32 on the CPU, with a fallback report if
// the recipe asks for another one.
kernels::Factors device_products_of(const Recipe& recipe, Device device);

}  // namespace sten
