#include "libsten/run/selection.h"

#include <re2/re2.h>

#include <algorithm>
#include <functional>

namespace sten {
namespace {

bool contains_nocase(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [&](char a, char b) { return lower(a) == b; }) != text.end();
}

struct Matcher {
  std::function<bool(const std::string&)> matches;
  bool literal;
};

Matcher matcher(const std::string& pattern) {
  if (pattern.starts_with("re:")) {
    // RE2 runs in time linear in the text and in bounded memory, whatever the expression.
    RE2::Options options;
    options.set_log_errors(false);
    auto re = std::make_shared<RE2>(pattern.substr(3), options);
    if (!re->ok()) fail_usage("{}: {}", quote(pattern), re->error());
    return {[re](const std::string& name) { return RE2::FullMatch(name, *re); }, false};
  }
  if (!has_glob_characters(pattern))
    return {[pattern](const std::string& name) { return name == pattern; }, true};
  return {[pattern](const std::string& name) { return glob_match(pattern, name); }, false};
}

// Why a tensor is not fit for the purpose; "" if it is.
std::string unfit(const TensorInfo& t, Purpose purpose) {
  if (purpose == Purpose::prune && !is_prunable(t.dtype))
    return fmt::format("{} elements cannot be pruned", name_of(t.dtype));
  if (width_of(t.dtype) == 0)
    return fmt::format("{} elements have no address of their own", name_of(t.dtype));
  if (t.shape.size() < 2)
    return fmt::format("it has rank {}, and weights have 2 or more", t.shape.size());
  return "";
}

void match(const Checkpoint& c, const std::string& pattern, const char* flag,
           const std::function<void(std::size_t, bool literal)>& f) {
  const Matcher m = matcher(pattern);
  bool any = false;
  for (std::size_t i = 0; i < c.tensors().size(); ++i)
    if (m.matches(c.tensors()[i].name)) {
      any = true;
      f(i, m.literal);
    }
  if (any) return;
  std::vector<std::string> names;
  for (const CheckpointTensor& t : c.tensors()) names.push_back(t.name);
  fail_usage("{} {} matches none of the {} tensors of {}{}", flag, quote(pattern), names.size(),
             c.name(), m.literal ? suggestion(pattern, names) : "");
}

}  // namespace

bool is_weight(const TensorInfo& t) {
  if (!is_prunable(t.dtype) || t.shape.size() < 2 || !t.name.ends_with("weight")) return false;
  for (const char* part : {"embed", "wte", "wpe", "lm_head", "norm", ".ln_"})
    if (contains_nocase(t.name, part)) return false;
  return true;
}

Selection select_tensors(const Checkpoint& c, const Patterns& patterns, Purpose purpose) {
  Selection s;
  const std::size_t n = c.tensors().size();
  s.chosen.resize(n);
  std::vector<bool> skipped(n);
  for (const std::string& pattern : patterns.include) {
    bool any = false;
    std::string reason;
    match(c, pattern, "--include", [&](std::size_t i, bool literal) {
      const std::string why = unfit(c.tensors()[i], purpose);
      if (why.empty()) {
        any = s.chosen[i] = true;
      } else if (literal) {
        fail_usage("--include {}: {}", quote(pattern), why);
      } else {
        skipped[i] = true;
        reason = why;
      }
    });
    if (!any)
      fail_usage("--include {} matches no tensor that can be used: {}", quote(pattern), reason);
  }
  if (patterns.include.empty())
    for (std::size_t i = 0; i < n; ++i) {
      const CheckpointTensor& t = c.tensors()[i];
      s.chosen[i] = is_weight(t) || (purpose == Purpose::convert && t.is_sparse());
    }
  for (const std::string& pattern : patterns.exclude)
    match(c, pattern, "--exclude", [&](std::size_t i, bool) { s.chosen[i] = skipped[i] = false; });
  s.count = std::count(s.chosen.begin(), s.chosen.end(), true);
  s.skipped = std::count(skipped.begin(), skipped.end(), true);
  return s;
}

}  // namespace sten
