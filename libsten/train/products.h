// What multiplies dense matrices in a run, and in which precision.
#pragma once
#include "libsten/base/device.h"
#include "libsten/linalg/dense_gemm.h"
#include "libsten/product/device_product.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// The one that the recipe names; Error if it does not load. If the recipe names none: the one that
// a resumed run recorded as `before`, in any version; without a record, or if that one does not
// load, the fastest.
const DenseLibrary& products_of(const Recipe& recipe, std::string_view before = {});

// What a run that trains there may round factors to: float32 on the CPU, which reports a fallback where
// the recipe says otherwise.
kernels::Factors device_products_of(const Recipe& recipe, Device device);

}  // namespace sten
