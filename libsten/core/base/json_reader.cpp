// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/json_reader.h"

#include <algorithm>
#include <limits>

#include "libsten/core/base/text.h"

namespace sten {

using Json = nlohmann::ordered_json;

namespace {

// "expected an integer, got '160'".
std::string mismatch(const char* expected, const Json& value) {
  std::string got;
  if (value.is_object())
    got = "an object";
  else if (value.is_array())
    got = "a list";
  else if (value.is_string())
    got = quote(std::string_view(value.get_ref<const std::string&>()).substr(0, 200));
  else
    got = value.dump();
  return fmt::format("expected {}, got {}", expected, got);
}

}  // namespace

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

std::vector<std::string> JsonReader::pointers() const {
  std::vector<const Step*> steps;
  for (const Step* s = &step_; s->parent; s = s->parent.get()) steps.push_back(s);
  std::vector<std::string> all{""};
  for (auto s = steps.rbegin(); s != steps.rend(); ++s)
    all.push_back(all.back() + pointer_step((*s)->key ? *(*s)->key : std::to_string((*s)->index)));
  return all;
}

std::string JsonReader::origin() const {
  if (!document_->origins) return document_->what;
  const std::vector<std::string> all = pointers();
  for (auto p = all.rbegin(); p + 1 != all.rend(); ++p)
    if (const auto own = document_->origins->find(*p); own != document_->origins->end())
      return own->second;
  return document_->what;
}

void JsonReader::fail(const std::string& problem) const {
  constexpr std::size_t most = 2000;  // bounds the text of an error
  std::string pointer = pointers().back();
  if (pointer.size() > most) pointer = pointer.substr(0, most) + "...";
  throw Error(document_->fault, fmt::format("{}: {}{}{}", origin(), printable(pointer),
                                            pointer.empty() ? "" : ": ", problem));
}

void JsonReader::check_keys(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : members())
    if (std::ranges::find(known, key) == known.end())
      value.fail("unknown key" + suggestion(key, {known.begin(), known.end()}));
}

bool JsonReader::has(std::string_view key) const {
  return at_.is_object() && at_.find(std::string(key)) != at_.end();
}

JsonReader JsonReader::operator[](std::string_view key) const {
  if (!at_.is_object()) fail(mismatch("an object", at_));
  const auto found = at_.find(std::string(key));
  if (found == at_.end()) fail("missing " + quote(key));
  return {*found, *this, {std::make_shared<const Step>(step_), &found.key(), 0}};
}

std::vector<JsonReader> JsonReader::elements() const {
  if (!at_.is_array()) fail(mismatch("a list", at_));
  const auto here = std::make_shared<const Step>(step_);
  std::vector<JsonReader> all;
  all.reserve(at_.size());
  for (std::size_t i = 0; i < at_.size(); ++i)
    all.push_back(JsonReader(at_[i], *this, {here, nullptr, i}));
  return all;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  if (!at_.is_object()) fail(mismatch("an object", at_));
  const auto here = std::make_shared<const Step>(step_);
  std::vector<std::pair<std::string, JsonReader>> all;
  all.reserve(at_.size());
  for (const auto& [key, value] : at_.get_ref<const Json::object_t&>())
    all.emplace_back(key, JsonReader(value, *this, {here, &key, 0}));
  return all;
}

std::string JsonReader::text() const {
  if (!at_.is_string()) fail(mismatch("a string", at_));
  return at_.get<std::string>();
}

Index JsonReader::integer() const {
  if (!at_.is_number_integer() ||
      (at_.is_number_unsigned() && at_.get<std::uint64_t>() > std::uint64_t{INT64_MAX}))
    fail(mismatch("an integer", at_));
  return at_.get<Index>();
}

std::uint64_t JsonReader::natural() const {
  if (!at_.is_number_unsigned() || at_.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    fail(mismatch("an integer from 0 to 2^63 - 1", at_));
  return at_.get<std::uint64_t>();
}

double JsonReader::number() const {
  if (!at_.is_number()) fail(mismatch("a number", at_));
  return at_.get<double>();
}

double JsonReader::real() const {
  if (at_.is_number()) return at_.get<double>();
  const std::string word = at_.is_string() ? at_.get<std::string>() : "";
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  if (word == "Infinity") return infinity;
  if (word == "-Infinity") return -infinity;
  fail(mismatch("a number", at_));
}

bool JsonReader::truth() const {
  if (!at_.is_boolean()) fail(mismatch("true or false", at_));
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
