// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/spec.h"

#include <optional>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

bool is_word(std::string_view s) {
  for (char c : s)
    if (!(c == '-' || c == '_' || c == '.' || c == '+' || (c >= '0' && c <= '9') ||
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
      return false;
  return !s.empty();
}

bool is_digits(std::string_view s) {
  return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos;
}

// Parses "2:4", "1:10:4", "1:4:2:32" or "1:4:2:32x1", each with an optional "@AXIS".
std::optional<Spec> parse_short(std::string_view text) {
  const std::size_t at = text.find('@');
  std::string_view rest = text.substr(0, at);
  std::vector<std::string> numbers;
  std::optional<std::string> w;
  if (const std::size_t x = rest.find('x'); x != std::string_view::npos) {
    w = rest.substr(x + 1);
    if (!is_digits(*w)) return std::nullopt;
    rest = rest.substr(0, x);
  }
  for (;;) {
    const std::size_t colon = rest.find(':');
    if (!is_digits(rest.substr(0, colon)) || numbers.size() == 4) return std::nullopt;
    numbers.emplace_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (numbers.size() < 2 || (w && numbers.size() < 4)) return std::nullopt;
  constexpr const char* names[] = {"nm", "nmg", "nmgv"};
  constexpr const char* keys[] = {"n", "m", "g", "v"};
  Spec spec(names[numbers.size() - 2]);
  for (std::size_t i = 0; i < numbers.size(); ++i) spec.set(keys[i], numbers[i]);
  if (w) spec.set("w", *w);
  if (at == std::string_view::npos) return spec;
  if (!is_digits(text.substr(at + 1))) return std::nullopt;
  return spec.set("axis", std::string(text.substr(at + 1)));
}

}  // namespace

Spec::Spec(std::string name) : name_(name == "per-block" ? "nm" : std::move(name)) {}

Spec Spec::parse(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    fail_usage("{}: {}; a spec looks like nmg:n=1,m=10,g=4", quote(text.substr(0, 200)), why);
  };
  if (auto spec = parse_short(text)) return *std::move(spec);
  const std::size_t colon = text.find(':');
  Spec spec{std::string(text.substr(0, colon))};
  if (!is_word(spec.name_)) wrong("expected a name of letters, digits, '-', '_', '.' and '+'");
  if (colon == std::string_view::npos) return spec;
  std::string_view rest = text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      wrong(fmt::format("expected key=value, got {}", quote(item)));
    const std::string_view key = item.substr(0, equals);
    const std::string value = without_percent(item.substr(equals + 1));
    if (!is_word(key) || !is_word(value))
      wrong(fmt::format("expected key=value, got {}", quote(item)));
    if (spec.has(key)) wrong(fmt::format("duplicate key {}", quote(key)));
    spec.args_.emplace_back(key, value);
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
    if (rest.empty()) wrong("comma at the end");
  }
  return spec;
}

const std::string* Spec::find(std::string_view key) const {
  for (const auto& [k, v] : args_)
    if (k == key) return &v;
  return nullptr;
}

const std::string& Spec::required(std::string_view key) const {
  const std::string* v = find(key);
  if (!v) fail_usage("{}: missing {}", quote(str()), quote(key));
  return *v;
}

double Spec::number(std::string_view key) const {
  double value = 0;
  if (!parse_number(required(key), value))
    fail_usage("{}: expected a number as {}", quote(str()), quote(key));
  return value;
}
double Spec::number(std::string_view key, double fallback) const {
  return has(key) ? number(key) : fallback;
}

Index Spec::integer(std::string_view key) const {
  Index value = 0;
  if (!parse_integer(required(key), value))
    fail_usage("{}: expected an integer as {}", quote(str()), quote(key));
  return value;
}
Index Spec::integer(std::string_view key, Index fallback) const {
  return has(key) ? integer(key) : fallback;
}

std::string_view Spec::word(std::string_view key, std::string_view fallback) const {
  const std::string* v = find(key);
  return v ? std::string_view(*v) : fallback;
}

Spec& Spec::set(std::string_view key, std::string value) {
  for (auto& [k, v] : args_)
    if (k == key) {
      v = std::move(value);
      return *this;
    }
  args_.emplace_back(key, std::move(value));
  return *this;
}

void Spec::check_keys(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : args_) {
    bool found = false;
    for (const std::string& k : known) found |= k == key;
    if (found) continue;
    if (known.empty()) fail_usage("{}: {} takes no keys", quote(str()), quote(name_));
    fail_usage("{}: {} has no key {}{}", quote(str()), quote(name_), quote(key),
               suggestion(key, known));
  }
}

std::string Spec::str() const {
  std::string out = name_;
  char separator = ':';
  for (const auto& [k, v] : args_) {
    out += separator + k + "=" + v;
    separator = ',';
  }
  return out;
}

}  // namespace sten
