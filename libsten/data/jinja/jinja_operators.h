// SPDX-License-Identifier: Apache-2.0
// Operators of expressions. Errors (usage) have the line.
#pragma once
#include "libsten/data/jinja/jinja_scope.h"

namespace sten::jinja {

// x[key]: a member, an element or a character; undefined if there is none.
Value element_of(const Value& x, const Value& key);
// x[begin:end:step], each an integer or none.
Value slice_of(const Value& x, const Value& begin, const Value& end, const Value& step);
Value concatenated(Scope& s, int line, const std::string& a, const std::string& b);
// +, -, *, /, //, % and **
Value arithmetic(Scope& s, int line, const std::string& op, const Value& a, const Value& b);
// ==, !=, <, <=, > and >=
bool compares(Scope& s, int line, const std::string& op, const Value& a, const Value& b);

}  // namespace sten::jinja
