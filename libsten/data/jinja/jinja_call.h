// SPDX-License-Identifier: Apache-2.0
// Calls of filters, functions and methods, and what several of them do.
#pragma once
#include "libsten/data/jinja/jinja_scope.h"

namespace sten::jinja {

// A call of a filter, a function or a method.
struct JinjaCall {
  Scope& scope;
  int line;
  const std::string& name;
  const Value& x;
  const Arguments& all;
  const Value& named;

  [[noreturn]] void refuse() const;
  const std::string& text() const;
  std::string ascii() const;  // a text whose case is changed
  Value argument(std::size_t i, const char* keyword, Value otherwise = undefined()) const;
  std::string text_argument(std::size_t i, const char* keyword) const;
  // The elements: of a list, the keys of an object, or the characters of a text.
  std::vector<Value> elements() const;
};

using Builtin = Value (*)(const JinjaCall&);

Value list_of(std::vector<Value> all);
std::string replaced(const JinjaCall& c, const std::string& s, const std::string& from,
                     const std::string& to);
std::string joined(const JinjaCall& c, const std::vector<Value>& all, const std::string& by);
// The builtin of that name in `own`, or one that is both a filter and a method: upper, lower,
// capitalize and title, of ASCII. nullptr if there is none.
Builtin builtin_in(const std::map<std::string_view, Builtin>& own, std::string_view name);
// ASCII with capital letters after characters that begin a word, and at the start.
std::string titled(std::string s, bool (*begins_word)(char));
// [key, value] of each member.
Value items_of(const JinjaCall& c);
// Undefined if there is none.
Value member_of(const Value& x, const Value& key);

}  // namespace sten::jinja
