// SPDX-License-Identifier: Apache-2.0
// Overrides of a JSON document (--set).
#pragma once
#include "libsten/core/base/json_reader.h"
#include "libsten/training/recipe/recipe.h"

namespace sten {

// The origin of overridden values in errors.
inline const std::string override_origin = "--set";

// Applies overrides in order. Missing objects and lists on the path are created, an index at the
// end of a list appends, and null removes a value. Error (usage) for a path through a value. Adds
// the changed paths to `origins`.
void apply_overrides(nlohmann::ordered_json& document, const Overrides& overrides,
                     JsonOrigins& origins);

}  // namespace sten
