// SPDX-License-Identifier: Apache-2.0
// Values of templates: JSON, and undefined.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sten::jinja {

using Value = nlohmann::ordered_json;

inline Value undefined() { return Value(Value::value_t::discarded); }
inline bool is_undefined(const Value& v) { return v.is_discarded(); }
// As Python's bool(), str() and repr().
bool truth(const Value& v);
std::string text_of(const Value& v);
std::string repr_of(const Value& v);
// As Python's json.dumps(ensure_ascii=False); one member per line if indent >= 0.
std::string json_of(const Value& v, int indent = -1);
// As Python's ==: undefined equals undefined alone, and true and false are 1 and 0.
bool are_equal(const Value& a, const Value& b);
// "string", "number", ..., for messages.
std::string_view kind_of(const Value& v);

// The characters of UTF-8; bytes that are no UTF-8 are characters too.
std::vector<std::string> characters(std::string_view text);
bool is_white(char c);  // of templates
bool is_python_space(std::int32_t c);
// Without leading or trailing characters of `which`, or white space.
std::string stripped(std::string_view text, bool left, bool right, const Value& which = {});

}  // namespace sten::jinja
