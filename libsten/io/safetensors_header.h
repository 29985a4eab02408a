// The JSON text in a safetensors file, before its numbers are held against the data.
#pragma once
#include <string>
#include <string_view>

#include "libsten/io/safetensors.h"

namespace sten {

// `file` begins every message; printable. Checks the form, names and dtypes, not offsets.
SafetensorsHeader read_header_text(std::string_view json, const std::string& file);

// 'name' for a message: printable, and not longer than a line.
std::string shown(std::string_view name);

}  // namespace sten
