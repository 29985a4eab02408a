// SPDX-License-Identifier: Apache-2.0
// Text functions: printing of untrusted names, matching, edit distance, numbers in messages.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// Escapes control characters, bidirectional overrides and invalid UTF-8, so that the printed text
// cannot control a terminal. Quotes and backslashes stay unchanged.
std::string printable(std::string_view text);
// The printable text in single quotes.
std::string quote(std::string_view text);
bool has_control_characters(std::string_view utf8);

// Strict total order in which digits compare as numbers: layer.2 before layer.10.
bool natural_less(std::string_view a, std::string_view b);

// Whether a glob matches: '*' any sequence (including dots and slashes), '?' one byte, '[abc]',
// '[a-z]', '[!a]' one byte of a set. Linear memory, at most |pattern| * |text| steps.
bool glob_match(std::string_view pattern, std::string_view text);
bool has_glob_characters(std::string_view pattern);

// Returns ", did you mean 'x'?" for the candidate nearest to `word` by edit distance; "" if none is
// near.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);
// The `count` candidates with the smallest edit distances, nearest first, ties in the given order.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates,
                                 std::size_t count);

// Returns "4.9 MB" (powers of 1000); exact bytes below 1000.
std::string human_bytes(std::uint64_t bytes);

// Parse the whole text; false for blanks, suffixes, NaN and infinity.
bool parse_number(std::string_view text, double& value);
bool parse_integer(std::string_view text, std::int64_t& value);
// Converts "90%" to "0.9", the nearest number; returns other texts unchanged.
std::string without_percent(std::string_view text);

// A command line or path for a JSON file: unchanged if it is UTF-8, else with invalid bytes as \x..
// and control characters escaped (printable()).
std::string recorded_text(std::string_view text);

}  // namespace sten
