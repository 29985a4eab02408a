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

// The first '=' outside of "[=]" splits. Error (usage).
Rule parse_rule(const std::string& text, const std::string& where);

// One rule a line; blank lines and lines that begin with '#' are skipped. Error names the line.
std::vector<Rule> read_rules(const std::string& path);

}  // namespace sten
