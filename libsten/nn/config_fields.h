// Fields of a HuggingFace config.json as models read them. Error (usage) that names the key.
#pragma once
#include <span>
#include <utility>

#include "libsten/base/json_reader.h"
#include "libsten/base/shape.h"

namespace sten {

// More layers than any model has would only take memory.
inline constexpr Index most_layers = 10000;

// An integer of 1 or more, which has to be there.
Index size_at(const JsonReader& in, const char* key);
// A number above 0, or `fallback` without one.
double positive_at(const JsonReader& in, const char* key, double fallback);
// The values of model_type that are read, for messages.
inline constexpr const char* known_model_types = R"("bert" or "gpt2")";
// Keys that may be left out, and say that the model is another one where they have another value; and
// that no heads are pruned.
using OnlyValues = std::span<const std::pair<const char*, nlohmann::ordered_json>>;
void check_only(const JsonReader& in, OnlyValues only);

}  // namespace sten
