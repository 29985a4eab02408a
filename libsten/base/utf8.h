// Text that may have any bytes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sten {

// Decodes the code point at `i` and moves past it; a malformed byte gives -1 and is one long.
std::int32_t next_code_point(std::string_view text, std::size_t& i);
bool is_utf8(std::string_view text);
// What a command line or a path is recorded as: the text itself, or where it is not UTF-8, with
// such bytes as \x.. and control characters escaped (printable()).
std::string recorded_text(std::string_view text);

}  // namespace sten
