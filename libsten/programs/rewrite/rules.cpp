// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/rewrite/rules.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/name_pattern.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/mmap.h"

namespace sten {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r";
  const std::size_t begin = std::min(text.find_first_not_of(spaces), text.size());
  return text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
}

std::string_view without_comment(std::string_view line) {
  for (std::size_t at = 0; (at = line.find('#', at)) != std::string_view::npos; ++at)
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  return line;
}

}  // namespace

Rule parse_rule(const std::string& text, const std::string& where) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' && text.compare(i, 3, "[=]") == 0) {
      i += 2;
    } else if (text[i] == '=') {
      if (i == 0) break;
      try {
        const std::string_view both = text;
        return {std::string(trimmed(both.substr(0, i))),
                Spec::parse(std::string(trimmed(both.substr(i + 1)))), where};
      } catch (const Error& e) {
        fail_usage("{} {}: {}", where, quote(text), e.what());
      }
    }
  }
  fail_usage("{} {}: expected PATTERN=SPEC, such as '*.attention.*=nm:n=2,m=4'", where,
             quote(text));
}

std::vector<Rule> split_rule(const Rule& rule) {
  std::vector<Rule> rules;
  try {
    for (const std::string& pattern : pattern_list(rule.pattern))
      rules.push_back({pattern, rule.spec, rule.where});
  } catch (const Error& e) {
    fail_usage("{} {}", rule.where, e.what());
  }
  return rules;
}

std::vector<Rule> read_rules(const std::string& path) {
  // Far above one rule per tensor.
  constexpr std::size_t most = std::size_t{16} << 20, most_rules = std::size_t{1} << 16;
  const MappedFile file = MappedFile::open(path);
  const auto bytes = file.bytes();
  if (bytes.size() > most)
    fail("{}: expected rules of at most {} bytes, got {}", file.name(), most, bytes.size());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<Rule> rules;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view rule = trimmed(without_comment(text.substr(at, end - at)));
    at = end + 1;
    if (rule.empty()) continue;
    for (Rule& r :
         split_rule(parse_rule(std::string(rule), fmt::format("{}:{}:", file.name(), line + 1))))
      rules.push_back(std::move(r));
    if (rules.size() > most_rules) fail("{}: expected at most {} rules", file.name(), most_rules);
  }
  if (rules.empty()) fail_usage("{}: expected rules, got none", file.name());
  return rules;
}

}  // namespace sten
