// Parser of the JSON text of a safetensors file.
#pragma once
#include <string>
#include <string_view>

#include "libsten/io/safetensors.h"

namespace sten {

// Parses the text. Checks its form, names and dtypes, but not offsets. `file`: printable; starts
// messages.
SafetensorsHeader read_header_text(std::string_view json, const std::string& file);

// A quoted name for messages: printable, and at most a line long.
std::string shown(std::string_view name);

}  // namespace sten
