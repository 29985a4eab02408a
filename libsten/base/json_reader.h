// Reads a JSON document whose errors say where they are, as JSON pointers do: "/nodes/3/op".
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
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
// that the reader was made with. Takes 64 bytes, however deep the place and however long its keys.
class JsonReader {
 public:
  // Keeps references to the document and to `origins`.
  JsonReader(const nlohmann::ordered_json& document, std::string what,
             const JsonOrigins* origins = nullptr)
      : JsonReader(document, Document{std::move(what), origins, Fault::usage}) {}
  JsonReader(const nlohmann::ordered_json& document, std::string what, Fault fault)
      : JsonReader(document, Document{std::move(what), nullptr, fault}) {}

  const nlohmann::ordered_json& json() const { return at_; }
  std::string origin() const;
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
  struct Document {
    std::string what;
    const JsonOrigins* origins;
    Fault fault;
  };
  // A key of an object, or an index where that is nullptr; `parent`: the step to the object or list,
  // nullptr of the document itself.
  struct Step {
    std::shared_ptr<const Step> parent;
    const std::string* key = nullptr;
    std::size_t index = 0;
  };
  JsonReader(const nlohmann::ordered_json& document, Document d)
      : at_(document), document_(std::make_shared<const Document>(std::move(d))) {}
  JsonReader(const nlohmann::ordered_json& at, const JsonReader& of, Step step)
      : at_(at), document_(of.document_), step_(std::move(step)) {}

  // The JSON pointers of the document, of what is in it, ... and of this place.
  std::vector<std::string> pointers() const;

  const nlohmann::ordered_json& at_;
  std::shared_ptr<const Document> document_;
  Step step_;
};

}  // namespace sten
