// SPDX-License-Identifier: Apache-2.0
// Lister of the keys of a section and its subsections.
#pragma once
#include "libsten/training/recipe/fields.h"
#include "libsten/training/recipe/keys.h"

namespace sten::recipe_detail {

struct KeyLister {
  static constexpr bool reads = true;  // visits all keys, whatever the values

  template <class T>
  void operator()(const char* key, T&, const Rule& rule = {}) {
    put(key, rule.kinds);
  }
  void kind(std::string&, const Words& all, bool = false) {
    put("kind");
    kinds = {all.begin(), all.end()};
  }
  template <class T>
  void section(const char* key, T& of, bool = false) {
    put(key);
    below(key, of);
  }
  template <class T>
  void list(const char* key, std::vector<T>&) {
    put(key);
    T one;
    below(std::string(key) + "/*", one);
  }
  template <class T>
  void optional(const char* key, std::optional<T>&, const Words& of = {}) {
    T one;
    put(key, of);
    below(key, one);
  }
  void mask(MaskRecipe& m) { section("mask", m); }

  std::vector<RecipeKey> keys;
  std::vector<std::string> kinds;  // of this section

 private:
  void put(const char* key, const Words& of = {}) {
    keys.push_back({std::string("/") + key, {of.begin(), of.end()}});
  }
  template <class T>
  void below(const std::string& key, T& of) {
    KeyLister inner;
    fields_of(inner, of);
    for (RecipeKey& k : inner.keys) keys.push_back({"/" + key + k.pointer, std::move(k.kinds)});
  }
};

}  // namespace sten::recipe_detail
