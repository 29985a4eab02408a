// By which library a run multiplies dense matrices.
#pragma once
#include "libsten/linalg/dense_gemm.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// The one that the recipe names; Error where it is not there. Where it names none, the one called
// `before` in the run that goes on, whatever its version, and without such a run, or where it is
// gone, the fastest one.
const DenseLibrary& products_of(const Recipe& recipe, std::string_view before = {});

}  // namespace sten
