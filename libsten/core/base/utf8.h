// SPDX-License-Identifier: Apache-2.0
// UTF-8 in texts that may contain any bytes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sten {

// Decodes the code point at `i` and advances `i`; an invalid byte returns -1 and advances by one.
std::int32_t next_code_point(std::string_view text, std::size_t& i);
bool is_utf8(std::string_view text);

}  // namespace sten
