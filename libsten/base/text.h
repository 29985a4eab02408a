// Text helpers: printing untrusted names, comparing and matching them, numbers for people.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// The text with control characters, bidirectional overrides and invalid UTF-8 escaped, so that
// printing it cannot drive a terminal. Quotes and backslashes stay unchanged.
std::string printable(std::string_view text);
// 'text', printable.
std::string quote(std::string_view text);
bool has_control_characters(std::string_view utf8);

// Numbers in a name compare as numbers: layer.2 before layer.10. A strict total order.
bool natural_less(std::string_view a, std::string_view b);

// '*' any run (dots and slashes too), '?' one byte, '[abc]', '[a-z]', '[!a]' one byte of a set.
// Linear memory, at most |pattern| * |text| steps.
bool glob_match(std::string_view pattern, std::string_view text);
bool has_glob_characters(std::string_view pattern);

// ", did you mean 'x'?" for the candidate nearest to `word` by edit distance; "" if none is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);
// The `count` candidates of the least edit distance, the nearest first, equal ones in their order.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates,
                                 std::size_t count);

// "4.9 MB" (powers of 1000); exact bytes below 1000.
std::string human_bytes(std::uint64_t bytes);

// The whole text as a number, or no value: no blanks, no suffix, no NaN, no infinity.
bool parse_number(std::string_view text, double& value);
bool parse_integer(std::string_view text, std::int64_t& value);
// "90%" as "0.9", the nearest number; any other text unchanged.
std::string without_percent(std::string_view text);

}  // namespace sten
