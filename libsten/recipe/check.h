// What has to hold between the values of a section; each is in its range already.
#pragma once
#include "libsten/base/json_reader.h"
#include "libsten/recipe/recipe.h"

namespace sten::recipe_detail {

// The key, or what lacks it.
JsonReader place(const JsonReader& at, std::string_view key);

// Error (usage) where the key is missing, with the line to add: the key and `example`, which is JSON.
void require(const JsonReader& at, const char* key, std::string_view example);

// Error (usage) at the place of the value at fault.
void check(const JsonReader& at, const ModelRecipe& m);
void check(const JsonReader& at, const DataRecipe& d);
void check(const JsonReader& at, const OptimizerRecipe& o);
void check(const JsonReader& at, const RateRecipe& r);
// Fills in what follows from other values: the sparsifier of the last stage, numbers of layouts.
void check(const JsonReader& at, SparsityRecipe& s);
// Fills in the layout.
void check(const JsonReader& at, FormatRecipe& f);
void check(const JsonReader& at, const Recipe& r);

}  // namespace sten::recipe_detail
