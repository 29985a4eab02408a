// SPDX-License-Identifier: Apache-2.0
// Formats in JSON: {"inline": S, "temporary": L, "external": S, "layout": L}, with sparsifiers and
// layouts as specs. Parts that are keep-all or dense are omitted.
#pragma once
#include "libsten/core/base/json_reader.h"
#include "libsten/core/dispatch/out_format.h"

namespace sten {

// Messages start with `whose`. Error (usage) for a sparsifier that the registry did not make.
void put_sparsifier(nlohmann::ordered_json& to, const char* key, const Sparsifier& s,
                    const std::string& whose);
void put_layout(nlohmann::ordered_json& to, const char* key, const Spec& layout);
nlohmann::ordered_json format_json(const OutFormat& f, const std::string& whose);

// Reads the key if present. Error (usage) with its path for a spec that registry() does not know.
void read_sparsifier(const JsonReader& in, const char* key, Sparsifier& to);
void read_layout(const JsonReader& in, const char* key, Spec& to);
OutFormat read_format(const JsonReader& in);

}  // namespace sten
