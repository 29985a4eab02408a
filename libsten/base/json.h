// JSON as text, in and out: the one place where it is parsed, and none of it throws what is not an
// Error.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "libsten/base/error.h"

namespace sten {

// Files are not nested deeper: whatever walks a document may call itself at every level.
inline constexpr int max_json_depth = 64;

// The document. Error where it is no JSON, has a key twice, a number that no double holds, or more
// levels than max_json_depth. `what` begins messages: "graph: is not JSON, at line 2, column 12",
// in bytes. Takes time and memory in proportion to the text.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& what,
                                  Fault fault = Fault::usage);
// Whether parse_json() would give one.
bool is_json(std::string_view text);

// The text of a document; with an indent, a member a line. Bytes that are not UTF-8 become U+FFFD,
// numbers that are not finite null.
std::string dump_json(const nlohmann::ordered_json& document, int indent = -1);

// A number that may be anything: "NaN", "Infinity" and "-Infinity" are texts, for JSON has no such
// numbers. JsonReader::real() reads it back.
nlohmann::ordered_json real_json(double value);

}  // namespace sten
