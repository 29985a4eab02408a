#include "libsten/base/name_pattern.h"

#include <re2/re2.h>

#include <memory>

#include "libsten/base/error.h"
#include "libsten/base/text.h"

namespace sten {

NamePattern::NamePattern(const std::string& text) {
  if (text.starts_with("re:")) {
    // RE2 runs in time linear in the text and in bounded memory, whatever the expression.
    RE2::Options options;
    options.set_log_errors(false);
    auto re = std::make_shared<RE2>(text.substr(3), options);
    if (!re->ok())
      fail_usage("{}: {}", quote(text), printable(std::string_view(re->error()).substr(0, 200)));
    matches_ = [re](const std::string& name) { return RE2::FullMatch(name, *re); };
  } else if (has_glob_characters(text)) {
    prefix_ = text.substr(0, text.find_first_of("*?["));
    matches_ = [text](const std::string& name) { return glob_match(text, name); };
  } else {
    literal_ = true;
    prefix_ = text;
    matches_ = [text](const std::string& name) { return name == text; };
  }
}

std::string pattern_of(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[')
      text += {'[', c, ']'};
    else
      text += c;
  }
  return text.starts_with("re:") ? "[r]" + text.substr(1) : text;
}

}  // namespace sten
