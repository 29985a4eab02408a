// SPDX-License-Identifier: Apache-2.0
// Reader of a section of a recipe's JSON.
#pragma once
#include <filesystem>

#include "libsten/core/base/json_reader.h"
#include "libsten/training/recipe/check.h"
#include "libsten/training/recipe/key_lister.h"

namespace sten::recipe_detail {

class SectionReader {
 public:
  static constexpr bool reads = true;

  // `origin`: of values from the file, whose paths are relative to `directory`.
  SectionReader(const JsonReader& at, std::string origin, std::filesystem::path directory)
      : at_(at), origin_(std::move(origin)), directory_(std::move(directory)) {}

  // Reads and checks the section.
  template <class T>
  void read(T& to) {
    KeyLister known;
    T scratch = to;
    fields_of(known, scratch);
    for (RecipeKey& k : known.keys)
      if (k.pointer.find('/', 1) == std::string::npos) keys_.push_back(std::move(k));
    if (known.kinds.empty()) check_keys();
    fields_of(*this, to);
    if constexpr (requires { check(at_, to); }) check(at_, to);
  }

  void kind(std::string& v, const Words& all, bool required = false);
  template <class T>
  void operator()(const char* key, T& v, const Rule& rule = {}) {
    if (!is_for(rule.kinds)) return;
    if (rule.required) require(at_, key, example(v, rule));
    if (at_.has(key)) get(at_[key], v, rule);
  }
  template <class T>
  void section(const char* key, T& v, bool required = false) {
    if (required) require(at_, key, "{...}");
    if (at_.has(key)) inner(at_[key]).read(v);
  }
  template <class T>
  void list(const char* key, std::vector<T>& v) {
    if (!at_.has(key)) return;
    v.clear();
    for (const JsonReader& e : at_[key].elements()) inner(e).read(v.emplace_back());
  }
  template <class T>
  void optional(const char* key, std::optional<T>& v, const Words& kinds = {}) {
    if (is_for(kinds) && at_.has(key)) inner(at_[key]).read(v.emplace());
  }
  void mask(MaskRecipe& m);

 private:
  SectionReader inner(const JsonReader& at) const { return {at, origin_, directory_}; }
  // A valid value of the key, as JSON.
  template <class T>
  static std::string example(const T&, const Rule& rule) {
    if constexpr (std::is_same_v<T, std::string>)
      return rule.choices.size() > 0 ? fmt::format("\"{}\"", rule.choices.front())
             : rule.path             ? "\"PATH\""
                                     : "\"...\"";
    if constexpr (std::is_same_v<T, Spec>) return "\"magnitude:sparsity=0.9\"";
    if constexpr (std::is_same_v<T, double>) return "0.5";
    if constexpr (std::is_integral_v<T>)
      return fmt::format("{}", static_cast<T>(std::max(1.0, rule.low)));
    return rule.or_single ? "\"PATH\"" : "[...]";
  }
  bool is_for(const Words& kinds) const;
  void check_keys() const;

  void get(const JsonReader& at, std::string& v, const Rule& rule) const;
  void get(const JsonReader& at, double& v, const Rule& rule) const;
  void get(const JsonReader& at, Index& v, const Rule& rule) const;
  void get(const JsonReader& at, std::uint64_t& v, const Rule& rule) const;
  void get(const JsonReader& at, bool& v, const Rule& rule) const;
  void get(const JsonReader& at, Spec& v, const Rule& rule) const;
  void get(const JsonReader& at, std::pair<Index, double>& v, const Rule& rule) const;
  void get(const JsonReader& at, std::map<std::string, std::string>& v, const Rule& rule) const;
  template <class T>
  void get(const JsonReader& at, std::vector<T>& v, const Rule& rule) const {
    v.clear();
    if (rule.or_single && !at.json().is_array()) return get(at, v.emplace_back(), rule);
    for (const JsonReader& e : at.elements()) get(e, v.emplace_back(), rule);
    if (rule.required && v.empty()) at.fail("expected a non-empty value");
  }

  JsonReader at_;
  std::string origin_;
  std::filesystem::path directory_;
  std::vector<RecipeKey> keys_;
  std::string kind_;
};

}  // namespace sten::recipe_detail
