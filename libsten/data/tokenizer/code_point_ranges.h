// SPDX-License-Identifier: Apache-2.0
// Sets of code points as ranges, for regular expressions.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sten {

struct CodePoints {
  std::int32_t first, last;
};

// Sorted ranges without overlaps.
std::vector<CodePoints> merged(std::vector<CodePoints> all);
std::vector<CodePoints> complement(const std::vector<CodePoints>& all);
// The code points of a general category, as "Lu", or of all categories that start with a letter.
std::vector<CodePoints> code_points_of(std::string_view category);
std::vector<CodePoints> spaces();
// The set as a class of a regular expression of RE2.
std::string written(const std::vector<CodePoints>& all);

}  // namespace sten
