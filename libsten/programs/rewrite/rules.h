// SPDX-License-Identifier: Apache-2.0
// Rules per tensor: PATTERN=SPEC.
#pragma once
#include <string>
#include <vector>

#include "libsten/core/base/spec.h"

namespace sten {

struct Rule {
  std::string pattern;
  Spec spec;          // a sparsifier, nm:..., nmg:..., or keep
  std::string where;  // "--rule" or "FILE:LINE", for messages
};

// Parses PATTERN=SPEC at the first '=' outside of "[=]"; ignores spaces around it. Error (usage).
Rule parse_rule(const std::string& text, const std::string& where);

// Splits a rule into one per pattern of its list (pattern_list()).
std::vector<Rule> split_rule(const Rule& rule);

// Reads one rule per line, split by split_rule(). Blank lines and comments are skipped; a comment
// is a '#' at the start of a line or after a space, and the text behind it. Error with the line.
std::vector<Rule> read_rules(const std::string& path);

}  // namespace sten
