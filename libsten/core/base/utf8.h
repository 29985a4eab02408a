// SPDX-License-Identifier: Apache-2.0
// UTF-8 in texts that may contain any bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sten {

// Decodes the code point at `i` and advances `i`; an invalid byte returns -1 and advances by one.
std::int32_t next_code_point(std::string_view text, std::size_t& i);
bool is_utf8(std::string_view text);
bool is_space(std::int32_t c);  // White_Space of Unicode
// Bytes of white space at the start or end.
std::size_t spaces_at_begin(std::string_view text);
std::size_t spaces_at_end(std::string_view text);
// The position of the last character; 0 for an empty text.
std::size_t last_character(std::string_view text);

}  // namespace sten
