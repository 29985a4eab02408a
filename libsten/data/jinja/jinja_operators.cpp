// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/jinja/jinja_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace sten::jinja {
namespace {

// Index i of n elements, as in Python; none if it is outside.
std::optional<std::size_t> index_of(const Value& i, std::size_t n) {
  if (!i.is_number_integer()) return {};
  const std::int64_t at = i.get<std::int64_t>(), size = static_cast<std::int64_t>(n);
  const std::int64_t from_start = at < 0 ? at + size : at;
  if (from_start < 0 || from_start >= size) return {};
  return static_cast<std::size_t>(from_start);
}

bool is_integer(const Value& v) { return v.is_number_integer() || v.is_boolean(); }
double real(const Value& v) { return v.is_boolean() ? (v.get<bool>() ? 1 : 0) : v.get<double>(); }

}  // namespace

Value element_of(const Value& x, const Value& key) {
  if (x.is_object() && key.is_string()) {
    const auto at = x.find(key.get_ref<const std::string&>());
    return at == x.end() ? undefined() : *at;
  }
  if (x.is_array()) {
    const auto i = index_of(key, x.size());
    return i ? x[*i] : undefined();
  }
  if (!x.is_string()) return undefined();
  const std::vector<std::string> all = characters(x.get_ref<const std::string&>());
  const auto i = index_of(key, all.size());
  return i ? Value(all[*i]) : undefined();
}

Value slice_of(const Value& x, const Value& begin, const Value& end, const Value& step) {
  Value all = Value::array();
  if (x.is_string())
    for (std::string& c : characters(x.get_ref<const std::string&>())) all.push_back(std::move(c));
  else if (x.is_array())
    all = x;
  const auto n = static_cast<std::int64_t>(all.size());
  const std::int64_t by = step.is_number_integer() ? step.get<std::int64_t>() : 1;
  const auto bound = [&](const Value& v, std::int64_t otherwise) {
    if (!v.is_number_integer()) return otherwise;
    const std::int64_t at = v.get<std::int64_t>() + (v.get<std::int64_t>() < 0 ? n : 0);
    return by > 0 ? std::clamp<std::int64_t>(at, 0, n) : std::clamp<std::int64_t>(at, -1, n - 1);
  };
  const std::int64_t first = bound(begin, by > 0 ? 0 : n - 1), last = bound(end, by > 0 ? n : -1);
  Value out = Value::array();
  if (by != 0)
    for (std::int64_t i = first; by > 0 ? i < last : i > last; i += by)
      out.push_back(all[static_cast<std::size_t>(i)]);
  if (!x.is_string()) return out;
  std::string text;
  for (const Value& c : out) text += c.get_ref<const std::string&>();
  return text;
}

Value concatenated(Scope& s, int line, const std::string& a, const std::string& b) {
  s.step(line);
  if (a.size() + b.size() > most_output) s.fail_long(line);
  return a + b;
}

Value arithmetic(Scope& s, int line, const std::string& op, const Value& a, const Value& b) {
  if (op == "+" && a.is_string() && b.is_string())
    return concatenated(s, line, a.get_ref<const std::string&>(), b.get_ref<const std::string&>());
  if (op == "+" && a.is_array() && b.is_array()) {
    if (a.size() + b.size() > most_steps) s.fail_long(line);
    Value all = a;
    all.insert(all.end(), b.begin(), b.end());
    return all;
  }
  const bool are_numbers = (a.is_number() || a.is_boolean()) && (b.is_number() || b.is_boolean());
  if (!are_numbers)
    s.fail(line, fmt::format("operator {} does not take {} and {}", op, kind_of(a), kind_of(b)));
  const double x = real(a), y = real(b);
  if ((op == "/" || op == "//" || op == "%") && y == 0) s.fail(line, "division by 0");
  const double z = op == "+"    ? x + y
                   : op == "-"  ? x - y
                   : op == "*"  ? x * y
                   : op == "/"  ? x / y
                   : op == "//" ? std::floor(x / y)
                   : op == "%"  ? x - y * std::floor(x / y)
                                : std::pow(x, y);
  const bool is_whole = std::abs(z) < 9e15 && z == std::floor(z);  // 2 ** -1 is 0.5
  if (op == "/" || !is_integer(a) || !is_integer(b) || !is_whole) return z;
  return static_cast<std::int64_t>(z);
}

bool compares(Scope& s, int line, const std::string& op, const Value& a, const Value& b) {
  if (op == "==") return are_equal(a, b);
  if (op == "!=") return !are_equal(a, b);
  const bool fits = (a.is_number() && b.is_number()) || (a.is_string() && b.is_string());
  if (!fits)
    s.fail(line, fmt::format("operator {} does not take {} and {}", op, kind_of(a), kind_of(b)));
  return op == "<" ? a < b : op == ">" ? a > b : op == "<=" ? a <= b : a >= b;
}

}  // namespace sten::jinja
