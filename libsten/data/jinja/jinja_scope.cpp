// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/jinja/jinja_scope.h"

#include <fmt/format.h>

#include "libsten/core/base/text.h"

namespace sten::jinja {
namespace {

// About the bytes of a value; most_copied for more than most_levels levels.
std::size_t bytes_of(const Value& v, int levels = most_levels) {
  std::size_t sum = sizeof(Value);
  if (v.is_string()) return sum + v.get_ref<const std::string&>().size();
  if (!v.is_structured()) return sum;
  if (levels == 0) return most_copied;
  for (auto at = v.begin(); at != v.end(); ++at)
    sum += bytes_of(*at, levels - 1) + (v.is_object() ? at.key().size() : 0);
  return sum;
}

}  // namespace

Value Scope::counted(int line, Value v) {
  copied += bytes_of(v);
  if (copied > most_copied) fail(line, "values are too large or too deeply nested");
  return v;
}

void Scope::step(int line) {
  if (++steps > most_steps) fail(line, fmt::format("more than {} steps", most_steps));
  if (output.size() > most_output) fail_long(line);
}

void Scope::fail_long(int line) const {
  fail(line, fmt::format("a text of more than {} bytes", most_output));
}

void Scope::fail(int line, const std::string& why) const {
  fail_usage("{}: line {}: {}", name, line, printable(why));
}

Value* Scope::find(std::string_view variable) {
  for (auto scope = variables.rbegin(); scope != variables.rend(); ++scope)
    if (const auto at = scope->find(variable); at != scope->end()) return &at->second;
  return nullptr;
}

}  // namespace sten::jinja
