// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/json.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "libsten/core/base/text.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

// Builds a document from the parser's events. The library's own builder searches all keys of an
// object for every new key.
class Builder {
 public:
  Builder(std::string_view text, const std::string& what) : text_(text), what_(what) {}

  Json document;
  std::string problem;

  bool null() { return put(nullptr); }
  bool boolean(bool v) { return put(v); }
  bool number_integer(Json::number_integer_t v) { return put(v); }
  bool number_unsigned(Json::number_unsigned_t v) { return put(v); }
  bool number_float(Json::number_float_t v, const std::string&) { return put(v); }
  bool string(std::string& v) { return put(std::move(v)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (!open_.back().keys.insert(name).second)
      return refuse(fmt::format("duplicate key {}", quote(name.substr(0, 200))));
    members().emplace_back(std::move(name), Json());
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const Json::exception& e) {
    constexpr int out_of_range = 406;
    if (e.id == out_of_range) return refuse("number beyond the range of a double");
    const std::string_view before = text_.substr(0, std::max(byte, std::size_t{1}) - 1);
    return refuse(fmt::format(
        "not JSON at line {}, column {}{}", 1 + std::count(before.begin(), before.end(), '\n'),
        before.size() - (before.rfind('\n') + 1) + 1, trailing_comma(before)));
  }

 private:
  // A hint at a trailing comma, from the text before the error.
  std::string trailing_comma(std::string_view before) const {
    const std::size_t last = before.find_last_not_of(" \t\r\n");
    if (last == before.npos || before[last] != ',' || before.size() == text_.size()) return "";
    const char next = text_[before.size()];
    return next == '}' || next == ']' ? fmt::format(": unexpected comma before {}", next) : "";
  }

  struct Open {
    Json* at;
    std::set<std::string> keys;  // if it is an object
  };

  bool refuse(const std::string& why) {
    problem = fmt::format("{}: {}", what_, why);
    return false;
  }
  std::vector<std::pair<const std::string, Json>>& members() {
    return open_.back().at->get_ref<Json::object_t&>();
  }
  // Where the next value is stored.
  Json* next(Json&& value) {
    if (open_.empty()) return &(document = std::move(value));
    Json& in = *open_.back().at;
    if (in.is_object()) return &(members().back().second = std::move(value));
    auto& all = in.get_ref<Json::array_t&>();
    all.push_back(std::move(value));
    return &all.back();
  }
  bool put(Json value) {
    next(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (static_cast<int>(open_.size()) == max_json_depth) return refuse("nested too deeply");
    open_.push_back({next(std::move(value)), {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& what_;
  std::vector<Open> open_;  // the containers around the next value
};

}  // namespace

Json parse_json(std::string_view text, const std::string& what, Fault fault) {
  Builder builder(text, what);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) throw Error(fault, builder.problem);
  return std::move(builder.document);
}

bool is_json(std::string_view text) {
  const std::string nobody;
  Builder builder(text, nobody);
  return Json::sax_parse(text.begin(), text.end(), &builder);
}

std::string dump_json(const Json& document, int indent) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json real_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

}  // namespace sten
