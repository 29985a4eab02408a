#include "libsten/run/rules.h"

#include "libsten/base/error.h"
#include "libsten/base/text.h"
#include "libsten/io/mmap.h"

namespace sten {

Rule parse_rule(const std::string& text, const std::string& where) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' && text.compare(i, 3, "[=]") == 0) {
      i += 2;
    } else if (text[i] == '=') {
      if (i == 0) break;
      try {
        return {text.substr(0, i), Spec::parse(text.substr(i + 1)), where};
      } catch (const Error& e) {
        fail_usage("{} {}: {}", where, quote(text), e.what());
      }
    }
  }
  fail_usage("{} {}: a rule is PATTERN=SPEC, such as '*.attention.*=nm:n=2,m=4'", where,
             quote(text));
}

std::vector<Rule> read_rules(const std::string& path) {
  constexpr std::size_t most = std::size_t{16} << 20;  // far beyond one rule for every tensor
  const MappedFile file = MappedFile::open(path);
  const auto bytes = file.bytes();
  if (bytes.size() > most)
    fail("{}: is no list of rules: it has {} bytes", file.name(), bytes.size());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<Rule> rules;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view rule = text.substr(at, end - at);
    at = end + 1;
    while (!rule.empty() && (rule.back() == ' ' || rule.back() == '\r' || rule.back() == '\t'))
      rule.remove_suffix(1);
    while (!rule.empty() && (rule.front() == ' ' || rule.front() == '\t')) rule.remove_prefix(1);
    if (rule.empty() || rule.front() == '#') continue;
    rules.push_back(parse_rule(std::string(rule), fmt::format("{}:{}:", file.name(), line + 1)));
  }
  if (rules.empty()) fail_usage("{}: has no rules", file.name());
  return rules;
}

}  // namespace sten
