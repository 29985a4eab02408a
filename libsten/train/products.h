// Which library multiplies dense matrices in a run.
#pragma once
#include "libsten/linalg/dense_gemm.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// The one that the recipe names; Error if it does not load. If the recipe names none: the one that
// a resumed run recorded as `before`, in any version; without a record, or if that one does not
// load, the fastest.
const DenseLibrary& products_of(const Recipe& recipe, std::string_view before = {});

}  // namespace sten
