// SPDX-License-Identifier: Apache-2.0
// Reader of JSON documents whose errors contain a JSON pointer: "/nodes/3/op".
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/core/base/json.h"
#include "libsten/core/base/shape.h"

namespace sten {

// Origins of parts of a document, by JSON pointer, where they differ from the document's origin.
using JsonOrigins = std::map<std::string, std::string>;

// A step of a JSON pointer, with its leading "/".
std::string pointer_step(std::string_view key);

// A location in a document. Accessors throw Error, with the fault given to the constructor, if the
// value is missing or has another type. An object takes 64 bytes at any depth.
class JsonReader {
 public:
  // Keeps references to `document` and `origins`.
  JsonReader(const nlohmann::ordered_json& document, std::string what,
             const JsonOrigins* origins = nullptr)
      : JsonReader(document, Document{std::move(what), origins, Fault::usage}) {}
  JsonReader(const nlohmann::ordered_json& document, std::string what, Fault fault)
      : JsonReader(document, Document{std::move(what), nullptr, fault}) {}

  const nlohmann::ordered_json& json() const { return at_; }
  std::string origin() const;
  // Error unless every key of the object is in `known`.
  void check_keys(std::initializer_list<std::string_view> known) const;
  bool has(std::string_view key) const;
  JsonReader operator[](std::string_view key) const;
  // The elements of an array.
  std::vector<JsonReader> elements() const;
  // The members of an object.
  std::vector<std::pair<std::string, JsonReader>> members() const;

  std::string text() const;
  Index integer() const;
  std::uint64_t natural() const;  // 0 to 2^63 - 1
  double number() const;
  double real() const;  // a number or a string of real_json()
  bool truth() const;
  std::vector<std::string> texts() const;
  std::vector<Index> integers() const;
  // Returns f(); errors of f get the JSON pointer in front.
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
  // The step from `parent` (nullptr at the document itself) to a key of an object, or, if `key` is
  // nullptr, to an index of an array.
  struct Step {
    std::shared_ptr<const Step> parent;
    const std::string* key = nullptr;
    std::size_t index = 0;
  };
  JsonReader(const nlohmann::ordered_json& document, Document d)
      : at_(document), document_(std::make_shared<const Document>(std::move(d))) {}
  JsonReader(const nlohmann::ordered_json& at, const JsonReader& of, Step step)
      : at_(at), document_(of.document_), step_(std::move(step)) {}

  // JSON pointers of the document and of every value on the path to this location.
  std::vector<std::string> pointers() const;

  const nlohmann::ordered_json& at_;
  std::shared_ptr<const Document> document_;
  Step step_;
};

}  // namespace sten
