// --set: changes to a document before it is read.
#pragma once
#include "libsten/base/json_reader.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// What errors say of values that come from there.
inline const std::string override_origin = "--set";

// Carries them out in their order: the key's object and lists are made where they are missing, an
// index at a list's end adds to it, null takes away what is there. Error (usage) for a path that
// leads through a value. `origins` gets the places.
void apply_overrides(nlohmann::ordered_json& document, const Overrides& overrides,
                     JsonOrigins& origins);

}  // namespace sten
