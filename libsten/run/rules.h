// Rules per tensor: PATTERN=SPEC.
#pragma once
#include <string>
#include <vector>

#include "libsten/base/spec.h"

namespace sten {

struct Rule {
  std::string pattern;
  Spec spec;          // a sparsifier, nm:..., nmg:..., or keep
  std::string where;  // for messages: "--rule" or "FILE:LINE"
};

// The first '=' outside of "[=]" splits; spaces around it do not count. Error (usage).
Rule parse_rule(const std::string& text, const std::string& where);

// One rule for each pattern of a rule's list (pattern_list()).
std::vector<Rule> split_rule(const Rule& rule);

// One rule a line, split; blank lines and what follows a '#' at a line's begin or after a space are
// skipped. Error names the line.
std::vector<Rule> read_rules(const std::string& path);

}  // namespace sten
