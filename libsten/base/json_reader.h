// Reads a JSON document whose errors say where they are, as JSON pointers do: "/nodes/3/op".
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/base/json.h"
#include "libsten/base/shape.h"

namespace sten {

// What parts of a document come from, by JSON pointer, where that is not what the whole comes from.
using JsonOrigins = std::map<std::string, std::string>;

// A step of a JSON pointer, with its "/".
std::string pointer_step(std::string_view key);

// A place in a document. What a member reads has to be there and of that type: Error, of the fault
// that the reader was made with.
class JsonReader {
 public:
  // Keeps references to the document and to `origins`.
  JsonReader(const nlohmann::ordered_json& document, std::string what,
             const JsonOrigins* origins = nullptr)
      : at_(document), origin_(std::move(what)), origins_(origins) {}
  JsonReader(const nlohmann::ordered_json& document, std::string what, Fault fault)
      : at_(document), origin_(std::move(what)), fault_(fault) {}

  const nlohmann::ordered_json& json() const { return at_; }
  const std::string& origin() const { return origin_; }
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
  std::uint64_t natural() const;  // 0 to 2^63 - 1
  double number() const;
  double real() const;  // of real_json(): a number, "NaN", "Infinity", or "-Infinity"
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
  JsonReader child(const nlohmann::ordered_json& at, std::string_view step) const;

  const nlohmann::ordered_json& at_;
  std::string origin_, pointer_;
  const JsonOrigins* origins_ = nullptr;
  Fault fault_ = Fault::usage;
};

}  // namespace sten
