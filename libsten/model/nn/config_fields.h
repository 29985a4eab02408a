// SPDX-License-Identifier: Apache-2.0
// Accessors of fields of a Hugging Face config.json. Error (usage), which names the key.
#pragma once
#include <span>
#include <utility>

#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/shape.h"

namespace sten {

// Limit of layers: more would only waste memory.
inline constexpr Index most_layers = 10000;

// Whether the key has a value; null is none.
bool has_value(const JsonReader& in, std::string_view key);
// A required integer >= 1.
Index size_at(const JsonReader& in, const char* key);
// A number > 0; `fallback` if the key is missing or null.
double positive_at(const JsonReader& in, const char* key, double fallback);
// true or false; `fallback` if the key is missing or null.
bool flag_at(const JsonReader& in, std::string_view key, bool fallback);
// The operator of an activation, which files name as transformers does; `usual` if the key is missing
// or null.
std::string activation_at(const JsonReader& in, std::string_view key, std::string_view usual);
// The supported values of model_type, for messages.
std::string known_model_types();
// Error if a key of `only` has another value, which means another model, or if the file
// prunes heads.
using OnlyValues = std::span<const std::pair<const char*, nlohmann::ordered_json>>;
void check_only(const JsonReader& in, OnlyValues only);

}  // namespace sten
