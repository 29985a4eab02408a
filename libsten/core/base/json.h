// SPDX-License-Identifier: Apache-2.0
// JSON parsing and printing; all errors are thrown as Error.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "libsten/core/base/error.h"

namespace sten {

// Limit of nesting, so that recursive functions can walk any document.
inline constexpr int max_json_depth = 64;

// Parses a document. Error for invalid JSON, a duplicate key, a number that no double can hold, or
// more levels than max_json_depth. Messages start with `what`: "graph: is not JSON, at line 2,
// column 12" (columns in bytes). Time and memory are linear in the text.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& what,
                                  Fault fault = Fault::usage);
// Whether parse_json() would succeed.
bool is_json(std::string_view text);

// Prints a document, with one member per line if `indent` >= 0. Invalid UTF-8 becomes U+FFFD, and
// non-finite numbers become null.
std::string dump_json(const nlohmann::ordered_json& document, int indent = -1);

// A double as JSON: NaN and infinities, which JSON numbers cannot express, become the strings
// "NaN", "Infinity" and "-Infinity". JsonReader::real() reads both forms.
nlohmann::ordered_json real_json(double value);

}  // namespace sten
