// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/jinja/jinja_call.h"

#include <fmt/format.h>

#include <algorithm>

namespace sten::jinja {

void JinjaCall::refuse() const {
  scope.fail(line, fmt::format("{} does not take {}", name, kind_of(x)));
}

const std::string& JinjaCall::text() const {
  if (!x.is_string()) refuse();
  return x.get_ref<const std::string&>();
}

std::string JinjaCall::ascii() const {
  const std::string t = text_of(x);
  if (std::ranges::any_of(t, [](char c) { return static_cast<unsigned char>(c) > 127; }))
    scope.fail(line, fmt::format("{}: supported for ASCII only", name));
  return t;
}

Value JinjaCall::argument(std::size_t i, const char* keyword, Value otherwise) const {
  if (i < all.size()) return all[i];
  if (named.is_object())
    if (const auto at = named.find(keyword); at != named.end()) return *at;
  return otherwise;
}

std::string JinjaCall::text_argument(std::size_t i, const char* keyword) const {
  const Value v = argument(i, keyword);
  if (!v.is_string()) scope.fail(line, fmt::format("{}: expected a text as argument", name));
  return v.get<std::string>();
}

std::vector<Value> JinjaCall::elements() const {
  std::vector<Value> out;
  if (x.is_array())
    out.assign(x.begin(), x.end());
  else if (x.is_object())
    for (auto at = x.begin(); at != x.end(); ++at) out.emplace_back(at.key());
  else if (x.is_string())
    for (std::string& c : characters(text())) out.emplace_back(std::move(c));
  else if (!is_undefined(x))
    refuse();
  return out;
}

Value list_of(std::vector<Value> all) {
  Value out = Value::array();
  for (Value& v : all) out.push_back(std::move(v));
  return out;
}

namespace {

std::string upper(std::string s) {
  for (char& c : s) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return s;
}
std::string lower(std::string s) {
  for (char& c : s) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return s;
}
std::string capitalized(const std::string& s) {
  return s.empty() ? s : upper(s.substr(0, 1)) + lower(s.substr(1));
}

const std::map<std::string_view, Builtin>& case_changes() {
  static const std::map<std::string_view, Builtin> all{
      {"upper", [](const JinjaCall& c) -> Value { return upper(c.ascii()); }},
      {"lower", [](const JinjaCall& c) -> Value { return lower(c.ascii()); }},
      {"capitalize", [](const JinjaCall& c) -> Value { return capitalized(c.ascii()); }},
      {"title", [](const JinjaCall& c) -> Value {
         return titled(c.ascii(),
                       [](char ch) { return !std::isalpha(static_cast<unsigned char>(ch)); });
       }}};
  return all;
}

}  // namespace

std::string titled(std::string s, bool (*begins_word)(char)) {
  bool begins = true;
  for (char& c : s) {
    c = (begins ? upper : lower)(std::string(1, c))[0];
    begins = begins_word(c);
  }
  return s;
}

Builtin builtin_in(const std::map<std::string_view, Builtin>& own, std::string_view name) {
  for (const auto* all : {&own, &case_changes()})
    if (const auto at = all->find(name); at != all->end()) return at->second;
  return nullptr;
}

std::string replaced(const JinjaCall& c, const std::string& s, const std::string& from,
                     const std::string& to) {
  if (from.empty()) return s;
  std::string out;
  std::size_t at = 0;
  for (std::size_t next; (next = s.find(from, at)) != s.npos; at = next + from.size()) {
    out.append(s, at, next - at) += to;
    if (out.size() > most_output) c.scope.fail_long(c.line);
  }
  return out.append(s, at, s.npos);
}

Value items_of(const JinjaCall& c) {
  Value out = Value::array();
  if (is_undefined(c.x)) return out;
  if (!c.x.is_object()) c.refuse();
  for (auto at = c.x.begin(); at != c.x.end(); ++at) out.push_back(Value::array({at.key(), *at}));
  return out;
}

std::string joined(const JinjaCall& c, const std::vector<Value>& all, const std::string& by) {
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    out += (i == 0 ? "" : by) + text_of(all[i]);
    if (out.size() > most_output) c.scope.fail_long(c.line);
  }
  return out;
}

Value member_of(const Value& x, const Value& key) {
  if (!x.is_object() || !key.is_string()) return undefined();
  const auto at = x.find(key.get_ref<const std::string&>());
  return at == x.end() ? undefined() : *at;
}

}  // namespace sten::jinja
