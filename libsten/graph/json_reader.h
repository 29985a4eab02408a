// Reads a JSON document whose errors say where they are, as JSON pointers do: "/nodes/3/op".
#pragma once
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/base/error.h"
#include "libsten/base/shape.h"

namespace sten {

// The document. Error (usage) where it is no JSON, has a key twice, or is nested too deeply. `what`
// begins messages: "graph: is not JSON, at byte 12".
nlohmann::ordered_json parse_json(std::string_view text, const std::string& what);

// A place in a document. What a member reads has to be there and of that type: Error (usage).
class JsonReader {
 public:
  JsonReader(const nlohmann::ordered_json& document, std::string what)
      : at_(document), where_(std::move(what) + ": ") {}

  const nlohmann::ordered_json& json() const { return at_; }
  // The object's keys, all of them among `known`.
  void check_keys(std::initializer_list<std::string_view> known) const;
  bool has(std::string_view key) const;
  JsonReader operator[](std::string_view key) const;
  // Of an array.
  std::vector<JsonReader> elements() const;
  // Of an object.
  std::vector<std::pair<std::string, JsonReader>> members() const;

  std::string text() const;
  Index integer() const;
  double number() const;
  bool truth() const;
  std::vector<std::string> texts() const;
  std::vector<Index> integers() const;
  // f(), with the place before what it throws.
  template <class F>
  auto read(F&& f) const {
    try {
      return f();
    } catch (const Error& e) {
      fail(e.what());
    }
  }

  [[noreturn]] void fail(const std::string& problem) const;

 private:
  JsonReader(const nlohmann::ordered_json& at, std::string what, std::string pointer)
      : at_(at), where_(std::move(what)), pointer_(std::move(pointer)) {}
  JsonReader child(const nlohmann::ordered_json& at, std::string_view step) const;

  const nlohmann::ordered_json& at_;
  std::string where_, pointer_;
};

}  // namespace sten
