#include "libsten/base/json_reader.h"

#include <algorithm>
#include <limits>

#include "libsten/base/text.h"

namespace sten {

using Json = nlohmann::ordered_json;

std::string pointer_step(std::string_view key) {
  std::string escaped = "/";
  for (const char c : key) {
    if (c == '~')
      escaped += "~0";
    else if (c == '/')
      escaped += "~1";
    else
      escaped += c;
  }
  return escaped;
}

void JsonReader::fail(const std::string& problem) const {
  throw Error(fault_, fmt::format("{}: {}{}{}", origin_, printable(pointer_),
                                  pointer_.empty() ? "" : ": ", problem));
}

JsonReader JsonReader::child(const Json& at, std::string_view step) const {
  JsonReader c(at, origin_, origins_);
  c.pointer_ = pointer_ + pointer_step(step);
  c.fault_ = fault_;
  if (!origins_) return c;
  if (const auto own = origins_->find(c.pointer_); own != origins_->end()) c.origin_ = own->second;
  return c;
}

void JsonReader::check_keys(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : members())
    if (std::ranges::find(known, key) == known.end())
      value.fail("is unknown" + suggestion(key, {known.begin(), known.end()}));
}

bool JsonReader::has(std::string_view key) const {
  return at_.is_object() && at_.find(std::string(key)) != at_.end();
}

JsonReader JsonReader::operator[](std::string_view key) const {
  if (!at_.is_object()) fail("is not an object");
  const auto found = at_.find(std::string(key));
  if (found == at_.end()) fail("has no " + quote(key));
  return child(*found, key);
}

std::vector<JsonReader> JsonReader::elements() const {
  if (!at_.is_array()) fail("is not a list");
  std::vector<JsonReader> all;
  for (std::size_t i = 0; i < at_.size(); ++i) all.push_back(child(at_[i], std::to_string(i)));
  return all;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  if (!at_.is_object()) fail("is not an object");
  std::vector<std::pair<std::string, JsonReader>> all;
  for (const auto& [key, value] : at_.items()) all.emplace_back(key, child(value, key));
  return all;
}

std::string JsonReader::text() const {
  if (!at_.is_string()) fail("is not a text");
  return at_.get<std::string>();
}

Index JsonReader::integer() const {
  if (!at_.is_number_integer() ||
      (at_.is_number_unsigned() && at_.get<std::uint64_t>() > std::uint64_t{INT64_MAX}))
    fail("is not an integer");
  return at_.get<Index>();
}

std::uint64_t JsonReader::natural() const {
  if (!at_.is_number_unsigned() || at_.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    fail("is not an integer from 0 to 2^63 - 1");
  return at_.get<std::uint64_t>();
}

double JsonReader::number() const {
  if (!at_.is_number()) fail("is not a number");
  return at_.get<double>();
}

double JsonReader::real() const {
  if (at_.is_number()) return at_.get<double>();
  const std::string word = at_.is_string() ? at_.get<std::string>() : "";
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  if (word == "Infinity") return infinity;
  if (word == "-Infinity") return -infinity;
  fail("is not a number");
}

bool JsonReader::truth() const {
  if (!at_.is_boolean()) fail("is not true or false");
  return at_.get<bool>();
}

std::vector<std::string> JsonReader::texts() const {
  std::vector<std::string> all;
  for (const JsonReader& e : elements()) all.push_back(e.text());
  return all;
}

std::vector<Index> JsonReader::integers() const {
  std::vector<Index> all;
  for (const JsonReader& e : elements()) all.push_back(e.integer());
  return all;
}

}  // namespace sten
