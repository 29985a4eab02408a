// Formats in JSON documents: {"inline": S, "temporary": L, "external": S, "layout": L}, sparsifiers
// and layouts as specs. Parts that are keep-all or dense are not written.
#pragma once
#include "libsten/base/json_reader.h"
#include "libsten/dispatch/out_format.h"

namespace sten {

// `whose` begins messages. Error (usage) for a sparsifier that was not made by the registry.
void put_sparsifier(nlohmann::ordered_json& to, const char* key, const Sparsifier& s,
                    const std::string& whose);
void put_layout(nlohmann::ordered_json& to, const char* key, const Spec& layout);
nlohmann::ordered_json format_json(const OutFormat& f, const std::string& whose);

// Where the key is there. Error (usage) with the place for what registry() does not know.
void read_sparsifier(const JsonReader& in, const char* key, Sparsifier& to);
void read_layout(const JsonReader& in, const char* key, Spec& to);
OutFormat read_format(const JsonReader& in);

}  // namespace sten
