// SPDX-License-Identifier: Apache-2.0
// Functions and methods.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "libsten/core/base/utf8.h"
#include "libsten/data/jinja/jinja_call.h"

namespace sten::jinja {
namespace {

// At runs of white space, at most `most` times unless that is negative.
Value words_of(std::string_view text, const Value& most) {
  std::size_t at = 0;
  const auto skip = [&](bool spaces) {
    for (std::size_t next = at; at < text.size(); at = next)
      if (is_python_space(next_code_point(text, next)) != spaces) return;
  };
  Value out = Value::array();
  for (skip(true); at < text.size(); skip(true)) {
    const std::size_t begin = at;
    if (most == Value(out.size()))
      at = text.size();
    else
      skip(false);
    out.push_back(std::string(text.substr(begin, at - begin)));
  }
  return out;
}

Value split(const JinjaCall& c) {
  const std::string& s = c.text();
  const Value by = c.argument(0, ""), most = c.argument(1, "maxsplit", -1);
  if (!by.is_string()) return words_of(s, most);
  const std::string& sep = by.get_ref<const std::string&>();
  if (sep.empty()) c.scope.fail(c.line, "split: empty separator");
  Value out = Value::array();
  std::size_t at = 0;
  for (std::size_t next; most != Value(out.size()) && (next = s.find(sep, at)) != s.npos;
       at = next + sep.size())
    out.push_back(s.substr(at, next - at));
  out.push_back(s.substr(at));
  return out;
}

const std::map<std::string_view, Builtin>& methods() {
  static const std::map<std::string_view, Builtin> all{
      {"strip",
       [](const JinjaCall& c) -> Value {
         return stripped(c.text(), true, true, c.argument(0, ""));
       }},
      {"lstrip",
       [](const JinjaCall& c) -> Value {
         return stripped(c.text(), true, false, c.argument(0, ""));
       }},
      {"rstrip",
       [](const JinjaCall& c) -> Value {
         return stripped(c.text(), false, true, c.argument(0, ""));
       }},
      {"replace",
       [](const JinjaCall& c) -> Value {
         return replaced(c, c.text(), c.text_argument(0, ""), c.text_argument(1, ""));
       }},
      {"startswith",
       [](const JinjaCall& c) -> Value { return c.text().starts_with(c.text_argument(0, "")); }},
      {"endswith",
       [](const JinjaCall& c) -> Value { return c.text().ends_with(c.text_argument(0, "")); }},
      {"join",
       [](const JinjaCall& c) -> Value {
         const Value of = c.argument(0, "");
         return joined(c, JinjaCall{c.scope, c.line, c.name, of, {}, {}}.elements(), c.text());
       }},
      {"split", split},
      {"items", items_of},
      {"keys",
       [](const JinjaCall& c) -> Value {
         return c.x.is_object() ? list_of(c.elements()) : (c.refuse(), Value());
       }},
      {"values",
       [](const JinjaCall& c) -> Value {
         Value out = Value::array();
         if (!c.x.is_object()) c.refuse();
         for (const Value& v : c.x) out.push_back(v);
         return out;
       }},
      {"get", [](const JinjaCall& c) -> Value {
         if (!c.x.is_object()) c.refuse();
         const Value found = member_of(c.x, c.argument(0, ""));
         return is_undefined(found) ? c.argument(1, "", nullptr) : found;
       }}};
  return all;
}

Value numbers_in_range(const JinjaCall& c) {
  std::vector<std::int64_t> n;
  for (const Value& v : c.all) {
    if (!v.is_number_integer()) c.scope.fail(c.line, "range: expected integers");
    n.push_back(v.get<std::int64_t>());
  }
  if (n.empty() || n.size() > 3) c.scope.fail(c.line, "range: expected 1 to 3 integers");
  const std::int64_t first = n.size() > 1 ? n[0] : 0, end = n.size() > 1 ? n[1] : n[0],
                     by = n.size() > 2 ? n[2] : 1;
  if (by == 0) c.scope.fail(c.line, "range: the step is 0");
  Value out = Value::array();
  for (std::int64_t i = first; by > 0 ? i < end : i > end; i += by) {
    c.scope.step(c.line);
    out.push_back(i);
  }
  return out;
}

Value time_text(const JinjaCall& c) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[128];
  return std::string(
      text, std::strftime(text, sizeof text, c.text_argument(0, "format").c_str(), &local));
}

const std::map<std::string_view, Builtin>& functions() {
  static const std::map<std::string_view, Builtin> all{
      {"range", numbers_in_range},
      {"strftime_now", time_text},
      {"namespace",
       [](const JinjaCall& c) -> Value { return c.named.is_object() ? c.named : Value::object(); }},
      {"dict",
       [](const JinjaCall& c) -> Value { return c.named.is_object() ? c.named : Value::object(); }},
      {"raise_exception",
       [](const JinjaCall& c) -> Value { c.scope.fail(c.line, c.text_argument(0, "message")); }}};
  return all;
}

}  // namespace

Value called(Scope& s, int line, const std::string& function, const Arguments& all,
             const Value& named) {
  const auto at = functions().find(function);
  if (at == functions().end()) s.fail(line, fmt::format("unsupported function {}", function));
  return s.counted(line, at->second({s, line, function, Value(), all, named}));
}

bool is_function(std::string_view name) { return functions().contains(name); }

Value called_method(Scope& s, int line, const Value& x, const std::string& method,
                    const Arguments& all) {
  const Builtin run = builtin_in(methods(), method);
  if (!run) s.fail(line, fmt::format("unsupported method {}", method));
  return s.counted(line, run({s, line, method, x, all, Value()}));
}

}  // namespace sten::jinja
