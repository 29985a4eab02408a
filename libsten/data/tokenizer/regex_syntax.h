// SPDX-License-Identifier: Apache-2.0
// Translation of Oniguruma's regular expressions to RE2's.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// The alternatives of a regular expression in RE2's syntax; adjacent ones are joined, and the
// alternative \s+(?!\S) is "". Classes are written as ranges of Unicode 16. Error that names the
// unsupported part: look-around, back-references, anchors, possessive quantifiers, \w, \b, scripts,
// nested classes.
std::vector<std::string> re2_alternatives(std::string_view expression);

}  // namespace sten
