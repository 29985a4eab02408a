// SPDX-License-Identifier: Apache-2.0
// JSON documents of models, and members that they may lack.
#pragma once
#include <string>

#include <nlohmann/json.hpp>

namespace sten {

// A JSON document and the name of its file.
struct NamedJson {
  std::string name;
  nlohmann::ordered_json json;
};

// The member of an object; null if it is missing, or `object` is none.
inline const nlohmann::ordered_json& json_member(const nlohmann::ordered_json& object,
                                                 const char* key) {
  static const nlohmann::ordered_json none;
  if (!object.is_object()) return none;
  const auto at = object.find(key);
  return at == object.end() ? none : *at;
}

}  // namespace sten
