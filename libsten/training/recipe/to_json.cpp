// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/training/recipe/key_lister.h"

namespace sten {

using Json = nlohmann::ordered_json;

namespace recipe_detail {
namespace {

class Writer {
 public:
  static constexpr bool reads = false;

  void kind(const std::string& v, const Words&, bool = false) { json["kind"] = kind_ = v; }

  template <class T>
  void operator()(const char* key, const T& v, const Rule& rule = {}) {
    if (!kind_.empty() && !rule.kinds.empty() && !std::ranges::count(rule.kinds, kind_)) return;
    if (is_open(v, rule)) return;
    json[key] = value(v);
    if (rule.or_single && json[key].size() == 1) json[key] = Json(json[key].front());
  }
  template <class T>
  void section(const char* key, T& of, bool = false) {
    json[key] = written(of);
  }
  template <class T>
  void list(const char* key, std::vector<T>& all) {
    json[key] = Json::array();
    for (T& one : all) json[key].push_back(written(one));
  }
  template <class T>
  void optional(const char* key, std::optional<T>& of, const Words& = {}) {
    if (of) section(key, *of);
  }
  void mask(MaskRecipe& m) {
    if (m.kind == "fixed")
      json["mask"] = "fixed";
    else
      section("mask", m);
  }

  template <class T>
  static Json written(T& of) {
    Writer w;
    fields_of(w, of);
    return std::move(w.json);
  }

  Json json = Json::object();

 private:
  template <class T>
  static bool is_open(const T& v, const Rule& rule) {
    if constexpr (requires { v.empty(); }) return v.empty() && !rule.required;
    if constexpr (std::is_arithmetic_v<T>) return rule.or_zero_absent && v == T{0};
    return false;
  }
  static Json value(const Spec& s) { return s.str(); }
  static Json value(const std::vector<Spec>& all) {
    Json j = Json::array();
    for (const Spec& s : all) j.push_back(s.str());
    return j;
  }
  template <class T>
  static Json value(const T& v) {
    return v;
  }

  std::string kind_;
};

}  // namespace
}  // namespace recipe_detail

std::string to_json(const Recipe& r) {
  Recipe copy = r;
  try {
    return recipe_detail::Writer::written(copy).dump(1) + "\n";
  } catch (const Json::type_error&) {
    fail_usage("recipe {}: invalid UTF-8", quote(r.name));
  }
}

std::vector<RecipeKey> recipe_keys() {
  recipe_detail::KeyLister lister;
  Recipe r;
  recipe_detail::fields_of(lister, r);
  return std::move(lister.keys);
}

}  // namespace sten
