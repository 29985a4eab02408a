// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/jinja/jinja_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libsten/core/base/utf8.h"

namespace sten::jinja {
namespace {

std::string number_text(const Value& v) {
  if (!v.is_number_float()) return v.dump();
  const double x = v.get<double>();
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  const std::string text = fmt::format("{}", x);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

std::string quoted_json(const std::string& s) {
  return Value(s).dump(-1, ' ', false, Value::error_handler_t::replace);
}

// `open`, the members, and `close`.
template <class F>
std::string enclosed(const Value& v, char open, char close, F&& member) {
  std::string out(1, open);
  bool is_first = true;
  for (auto at = v.begin(); at != v.end(); ++at) {
    if (!is_first) out += ", ";
    is_first = false;
    out += member(at);
  }
  return out + close;
}

std::string json_at(const Value& v, int indent, int level) {
  if (is_undefined(v)) return "null";
  if (v.is_string()) return quoted_json(v.get<std::string>());
  if (!v.is_structured()) return v.is_number_float() ? number_text(v) : v.dump();
  const char open = v.is_array() ? '[' : '{', close = v.is_array() ? ']' : '}';
  if (v.empty()) return {open, close};
  const auto line = [&](int at) {
    return indent < 0 ? std::string()
                      : "\n" + std::string(static_cast<std::size_t>(at * indent), ' ');
  };
  std::string out(1, open);
  for (auto at = v.begin(); at != v.end(); ++at) {
    if (at != v.begin()) out += indent < 0 ? ", " : ",";
    out += line(level + 1);
    if (v.is_object()) out += quoted_json(at.key()) + ": ";
    out += json_at(*at, indent, level + 1);
  }
  return out + line(level) + close;
}

}  // namespace

bool truth(const Value& v) {
  if (is_undefined(v) || v.is_null()) return false;
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_number()) return v.get<double>() != 0;
  return v.is_string() ? !v.get_ref<const std::string&>().empty() : !v.empty();
}

std::string text_of(const Value& v) {
  if (is_undefined(v)) return "";
  return v.is_string() ? v.get<std::string>() : repr_of(v);
}

std::string repr_of(const Value& v) {
  if (is_undefined(v)) return "Undefined";
  if (v.is_null()) return "None";
  if (v.is_boolean()) return v.get<bool>() ? "True" : "False";
  if (v.is_number()) return number_text(v);
  if (v.is_array()) return enclosed(v, '[', ']', [](auto at) { return repr_of(*at); });
  if (v.is_object())
    return enclosed(v, '{', '}',
                    [](auto at) { return fmt::format("{}: {}", repr_of(at.key()), repr_of(*at)); });
  const std::string& s = v.get_ref<const std::string&>();
  const char quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : s) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\\' || c == quote)
      (out += '\\') += c;
    else
      out += c;
  }
  return out + quote;
}

std::string json_of(const Value& v, int indent) { return json_at(v, indent, 0); }

std::string_view kind_of(const Value& v) {
  if (is_undefined(v)) return "undefined";
  if (v.is_null()) return "none";
  return v.type_name();
}

std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) ++end;
    all.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return all;
}

bool are_equal(const Value& a, const Value& b) {
  if (is_undefined(a) || is_undefined(b)) return is_undefined(a) && is_undefined(b);
  const auto number = [](const Value& v) {
    return v.is_boolean() ? Value(static_cast<std::int64_t>(v.get<bool>())) : v;
  };
  return number(a) == number(b);
}

bool is_white(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_python_space(std::int32_t c) { return is_space(c) || (c >= 0x1c && c <= 0x1f); }

std::string stripped(std::string_view text, bool left, bool right, const Value& which) {
  const auto is_cut = [&](std::string_view character) {
    if (which.is_string())
      return which.get_ref<const std::string&>().find(character) != std::string::npos;
    std::size_t end = 0;
    return is_python_space(next_code_point(character, end));
  };
  while (left && !text.empty()) {
    std::size_t end = 0;
    next_code_point(text, end);
    if (!is_cut(text.substr(0, end))) break;
    text.remove_prefix(end);
  }
  while (right && !text.empty()) {
    const std::size_t begin = last_character(text);
    if (!is_cut(text.substr(begin))) break;
    text.remove_suffix(text.size() - begin);
  }
  return std::string(text);
}

}  // namespace sten::jinja
