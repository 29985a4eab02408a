// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libsten/data/jinja/jinja_call.h"

namespace sten::jinja {
namespace {

std::string indented(const JinjaCall& c) {
  const Value width = c.argument(0, "width", 4);
  if (!width.is_string() && !width.is_number_integer())
    c.scope.fail(c.line, "indent: expected a number or a text");
  const std::string by =
      width.is_string()
          ? width.get<std::string>()
          : std::string(std::clamp<std::int64_t>(width.get<std::int64_t>(), 0, 64), ' ');
  const bool first = truth(c.argument(1, "first", false));
  const bool blank = truth(c.argument(2, "blank", false));
  const std::string& text = c.text();
  std::string out;
  for (std::size_t at = 0;; out += '\n') {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (at == 0 ? first : blank || end > at) out += by;
    out.append(text, at, end - at);
    if (out.size() > most_output) c.scope.fail_long(c.line);
    if (end == text.size()) return out;
    at = end + 1;
  }
}

// The method title() begins a word after each character that is not a letter, as Python's.
Value titled_words(const JinjaCall& c) {
  return titled(c.ascii(), [](char ch) {
    return is_python_space(ch) || std::string_view("-({[<").find(ch) != std::string_view::npos;
  });
}

// map(attribute="name") and map("filter").
Value mapped(const JinjaCall& c) {
  std::vector<Value> out;
  const Value attribute = c.named.is_object() ? member_of(c.named, "attribute") : undefined();
  for (const Value& v : c.elements())
    out.push_back(attribute.is_string()
                      ? member_of(v, attribute)
                      : filtered(c.scope, c.line, c.text_argument(0, ""), v, {}, {}));
  return list_of(std::move(out));
}

// select(test, ...) and selectattr(name, test, ...), and their negations.
Value selected(const JinjaCall& c, bool by_member, bool wanted) {
  std::vector<Value> out;
  const std::size_t first = by_member ? 1 : 0;
  for (const Value& v : c.elements()) {
    const Value tested = by_member ? member_of(v, c.text_argument(0, "")) : v;
    const Arguments more(
        c.all.begin() + static_cast<std::ptrdiff_t>(std::min(c.all.size(), first + 1)),
        c.all.end());
    const bool is = c.all.size() <= first
                        ? truth(tested)
                        : passes(c.scope, c.line, c.text_argument(first, ""), tested, more);
    if (is == wanted) out.push_back(v);
  }
  return list_of(std::move(out));
}

Value length_of(const JinjaCall& c) {
  if (c.x.is_structured()) return c.x.size();
  return is_undefined(c.x) ? Value(0) : Value(characters(c.text()).size());
}

Value as_number(const JinjaCall& c, bool is_integer) {
  double x = 0;
  if (c.x.is_number())
    x = c.x.get<double>();
  else if (c.x.is_string())
    x = std::strtod(c.text().c_str(), nullptr);
  if (!is_integer) return x;
  if (!(std::abs(x) < 9e15)) c.refuse();
  return static_cast<std::int64_t>(x);
}

const std::map<std::string_view, Builtin>& filters() {
  static const std::map<std::string_view, Builtin> all{
      {"trim",
       [](const JinjaCall& c) -> Value {
         return stripped(text_of(c.x), true, true, c.argument(0, "chars"));
       }},
      {"length", length_of},
      {"count", length_of},
      {"tojson",
       [](const JinjaCall& c) -> Value {
         const Value indent = c.argument(0, "indent", nullptr);
         return json_of(c.x,
                        indent.is_number_integer() ? std::clamp(indent.get<int>(), 0, 16) : -1);
       }},
      {"join",
       [](const JinjaCall& c) -> Value {
         return joined(c, c.elements(), text_of(c.argument(0, "d")));
       }},
      {"replace",
       [](const JinjaCall& c) -> Value {
         return replaced(c, text_of(c.x), c.text_argument(0, "old"), c.text_argument(1, "new"));
       }},
      {"default",
       [](const JinjaCall& c) -> Value {
         const bool lacks =
             is_undefined(c.x) || (truth(c.argument(1, "boolean", false)) && !truth(c.x));
         return lacks ? c.argument(0, "default_value", "") : c.x;
       }},
      {"first",
       [](const JinjaCall& c) -> Value {
         const auto all = c.elements();
         return all.empty() ? undefined() : all.front();
       }},
      {"last",
       [](const JinjaCall& c) -> Value {
         const auto all = c.elements();
         return all.empty() ? undefined() : all.back();
       }},
      {"list", [](const JinjaCall& c) -> Value { return list_of(c.elements()); }},
      {"reverse",
       [](const JinjaCall& c) -> Value {
         auto all = c.elements();
         std::ranges::reverse(all);
         return c.x.is_string() ? Value(joined(c, all, "")) : list_of(std::move(all));
       }},
      {"string", [](const JinjaCall& c) -> Value { return text_of(c.x); }},
      {"safe", [](const JinjaCall& c) -> Value { return c.x; }},
      {"int", [](const JinjaCall& c) -> Value { return as_number(c, true); }},
      {"float", [](const JinjaCall& c) -> Value { return as_number(c, false); }},
      {"items", items_of},
      {"title", titled_words},
      {"indent", [](const JinjaCall& c) -> Value { return indented(c); }},
      {"map", mapped},
      {"select", [](const JinjaCall& c) { return selected(c, false, true); }},
      {"reject", [](const JinjaCall& c) { return selected(c, false, false); }},
      {"selectattr", [](const JinjaCall& c) { return selected(c, true, true); }},
      {"rejectattr", [](const JinjaCall& c) { return selected(c, true, false); }},
      {"dictsort", [](const JinjaCall& c) -> Value {
         Value all = items_of(c);
         std::stable_sort(all.begin(), all.end(),
                          [](const Value& a, const Value& b) { return a[0] < b[0]; });
         return all;
       }}};
  return all;
}

}  // namespace

Value filtered(Scope& s, int line, const std::string& filter, const Value& x, const Arguments& more,
               const Value& named) {
  const Builtin run = builtin_in(filters(), filter == "d" ? "default" : filter);
  if (!run) s.fail(line, fmt::format("unsupported filter {}", filter));
  return s.counted(line, run({s, line, filter, x, more, named}));
}

bool passes(Scope& s, int line, const std::string& test, const Value& x, const Arguments& more) {
  const auto other = [&]() -> const Value& {
    if (more.empty()) s.fail(line, fmt::format("test {}: expected an operand", test));
    return more[0];
  };
  if (test == "defined") return !is_undefined(x);
  if (test == "undefined") return is_undefined(x);
  if (test == "none") return x.is_null();
  if (test == "string") return x.is_string();
  if (test == "mapping") return x.is_object();
  if (test == "sequence" || test == "iterable") return x.is_structured() || x.is_string();
  if (test == "number") return x.is_number() || x.is_boolean();
  if (test == "integer") return x.is_number_integer();
  if (test == "float") return x.is_number_float();
  if (test == "boolean") return x.is_boolean();
  if (test == "true" || test == "false") return x.is_boolean() && x.get<bool>() == (test == "true");
  if (test == "odd" || test == "even") {
    if (!x.is_number_integer()) s.fail(line, fmt::format("test {}: expected an integer", test));
    return (x.get<std::int64_t>() % 2 != 0) == (test == "odd");
  }
  if (test == "equalto" || test == "eq" || test == "==") return are_equal(x, other());
  if (test == "ne" || test == "!=") return !are_equal(x, other());
  if (test == "in") {
    const Value& in = other();
    if (in.is_string())
      return x.is_string() && in.get_ref<const std::string&>().find(
                                  x.get_ref<const std::string&>()) != std::string::npos;
    if (in.is_object()) return x.is_string() && in.contains(x.get_ref<const std::string&>());
    return in.is_array() &&
           std::ranges::any_of(in, [&](const Value& one) { return are_equal(one, x); });
  }
  s.fail(line, fmt::format("unsupported test {}", test));
}

}  // namespace sten::jinja
