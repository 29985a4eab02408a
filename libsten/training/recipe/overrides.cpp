// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/overrides.h"

#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;
using Steps = std::vector<std::string>;

constexpr std::size_t most_steps = 12;

Steps split(std::string_view path, char separator) {
  Steps steps;
  for (;;) {
    const std::size_t at = path.find(separator);
    steps.emplace_back(path.substr(0, at));
    if (at == std::string_view::npos) return steps;
    path.remove_prefix(at + 1);
  }
}

// Parses "a.0.b" or "/a/0/b".
Steps steps_of(std::string_view path) {
  if (!path.starts_with('/')) return split(path, '.');
  Steps steps = split(path.substr(1), '/');
  for (std::string& s : steps) {
    for (std::size_t at = 0; (at = s.find("~1", at)) != std::string::npos; ++at)
      s.replace(at, 2, "/");
    for (std::size_t at = 0; (at = s.find("~0", at)) != std::string::npos; ++at)
      s.replace(at, 2, "~");
  }
  return steps;
}

Json value_of(std::string_view text) {
  if (!is_utf8(text)) fail_usage("value is not valid UTF-8");
  if (is_json(text) || text.starts_with('{') || text.starts_with('['))
    return parse_json(text, "the value");
  return std::string(text);
}

// The element `step` of `at`; nullptr if it does not exist and `add` is false.
Json* child(Json& at, const std::string& step, const std::string& where, bool add) {
  if (at.is_object()) {
    if (!add && !at.contains(step)) return nullptr;
    return &at[step];
  }
  if (at.is_null()) return nullptr;
  if (!at.is_array()) fail_usage("{}: expected an object or a list", printable(where));
  Index i = 0;
  if (!parse_integer(step, i) || i < 0)
    fail_usage("{}: expected the index of a list element, got {}", printable(where), quote(step));
  const auto size = static_cast<Index>(at.size());
  if (i < size) return &at[static_cast<std::size_t>(i)];
  if (!add) return nullptr;
  if (i > size)
    fail_usage("{}: index is out of range: the list has {} elements (append with index {})",
               printable(where), size, size);
  at.push_back(nullptr);
  return &at.back();
}

void remove(Json& from, const std::string& step) {
  if (from.is_object())
    from.erase(step);
  else
    from.erase(static_cast<std::size_t>(std::stoll(step)));
}

bool is_index(const std::string& step) {
  Index i = 0;
  return parse_integer(step, i);
}

// Sets a value; returns its JSON pointer.
std::string set(Json& document, const Steps& steps, Json value) {
  Json *at = &document, *holder = nullptr;
  std::string pointer;
  const bool add = !value.is_null();
  for (const std::string& step : steps) {
    if (at->is_null() && add) *at = is_index(step) ? Json::array() : Json::object();
    holder = at;
    at = child(*at, step, pointer.empty() ? "the recipe" : pointer, add);
    if (!at) return pointer;
    pointer += pointer_step(step);
  }
  if (add)
    *at = std::move(value);
  else
    remove(*holder, steps.back());
  return pointer;
}

}  // namespace

void apply_overrides(Json& document, const Overrides& overrides, JsonOrigins& origins) {
  for (const std::string& o : overrides) {
    const std::size_t equals = o.find('=');
    if (equals == std::string::npos || equals == 0)
      fail_usage("{} {}: expected key=value", override_origin, quote(o));
    const Steps steps = steps_of(std::string_view(o).substr(0, equals));
    try {
      if (steps.size() > most_steps) fail_usage("key has more than {} parts", most_steps);
      for (const std::string& s : steps)
        if (s.empty()) fail_usage("key has an empty part");
      Json value = value_of(std::string_view(o).substr(equals + 1));
      const bool removes = value.is_null();
      const std::string pointer = set(document, steps, std::move(value));
      if (!removes) origins[pointer] = override_origin;
    } catch (const Error& e) {
      throw Error(e.fault(), fmt::format("{} {}: {}", override_origin, quote(o), e.what()));
    }
  }
}

}  // namespace sten
