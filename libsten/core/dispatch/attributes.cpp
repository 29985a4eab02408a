// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/dispatch/attributes.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

[[noreturn]] void refuse(std::string_view name, const char* what) {
  fail_usage("attribute {} must be {}", quote(name), what);
}

std::string text_of(const Attributes::Value& v) {
  if (const auto* i = std::get_if<Index>(&v)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&v)) return fmt::format("{}", *d);
  if (const auto* s = std::get_if<std::string>(&v)) return *s;
  return to_string(std::get<Attributes::List>(v));
}

}  // namespace

const Attributes::Value* Attributes::find(std::string_view name) const {
  for (const auto& [known, value] : all_)
    if (known == name) return &value;
  return nullptr;
}

Attributes& Attributes::set(std::string_view name, Value v) {
  for (auto& [known, value] : all_)
    if (known == name) {
      value = std::move(v);
      return *this;
    }
  all_.emplace_back(name, std::move(v));
  return *this;
}

Index Attributes::integer(std::string_view name, Index fallback) const {
  const Value* v = find(name);
  if (!v) return fallback;
  if (const auto* i = std::get_if<Index>(v)) return *i;
  refuse(name, "an integer");
}

double Attributes::number(std::string_view name, double fallback) const {
  const Value* v = find(name);
  if (!v) return fallback;
  if (const auto* d = std::get_if<double>(v)) return *d;
  if (const auto* i = std::get_if<Index>(v)) return static_cast<double>(*i);
  refuse(name, "a number");
}

const std::string& Attributes::word(std::string_view name, const std::string& fallback) const {
  const Value* v = find(name);
  if (!v) return fallback;
  if (const auto* s = std::get_if<std::string>(v)) return *s;
  refuse(name, "a word");
}

const Attributes::List& Attributes::list(std::string_view name, const List& fallback) const {
  const Value* v = find(name);
  if (!v) return fallback;
  if (const auto* l = std::get_if<List>(v)) return *l;
  refuse(name, "a list of integers");
}

void Attributes::check(std::string_view op, std::initializer_list<std::string_view> known) const {
  for (const auto& [name, value] : all_)
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail_usage("{}: unknown attribute {}{}", op, quote(name),
                 suggestion(name, std::vector<std::string>(known.begin(), known.end())));
}

std::string Attributes::str() const {
  std::string text;
  for (const auto& [name, value] : all_) {
    if (!text.empty()) text += ", ";
    text += name + "=" + text_of(value);
  }
  return text;
}

}  // namespace sten
