// SPDX-License-Identifier: Apache-2.0
// Checks of a section whose single values are valid: the relations between them.
#pragma once
#include "libsten/core/base/json_reader.h"
#include "libsten/training/recipe/recipe.h"

namespace sten::recipe_detail {

// Tolerance for sums of decimal fractions.
inline constexpr double rounding = 1e-9;

// The key, or the object that lacks it.
JsonReader place(const JsonReader& at, std::string_view key);

// Error (usage) if the key is missing, with the line to add: the key and `example`, which is JSON.
void require(const JsonReader& at, const char* key, std::string_view example);

// Error (usage) with the path of the wrong value.
void check(const JsonReader& at, const ModelRecipe& m);
void check(const JsonReader& at, const RandomResizedCropRecipe& c);
void check(const JsonReader& at, const DataRecipe& d);
void check(const JsonReader& at, const OptimizerRecipe& o);
void check(const JsonReader& at, const RateRecipe& r);
// Also sets values that follow from others: the sparsifier of the last stage, parameters of
// layouts.
void check(const JsonReader& at, SparsityRecipe& s);
// Also sets the layout.
void check(const JsonReader& at, FormatRecipe& f);
// Also sets the sparsifier of a structure.
void check(const JsonReader& at, ExchangeRecipe& e);
void check(const JsonReader& at, const Recipe& r);

}  // namespace sten::recipe_detail
