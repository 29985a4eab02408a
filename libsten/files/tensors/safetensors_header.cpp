// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "libsten/core/base/error.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/files/tensors/tensor_name.h"

namespace sten {
namespace {

// The format has three fields; so many in an entry are an attack.
constexpr std::size_t max_fields = 32;
// Depth of the value of an unknown field.
constexpr int max_depth = 32;

// Receives the parser's events, to find duplicate keys and to refuse misplaced values before they
// take memory.
class HeaderReader {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  bool null() { return scalar("null"); }
  bool boolean(bool value) { return scalar(value ? "true" : "false"); }
  // Negative integers, and -0.
  bool number_integer(std::int64_t value) { return scalar(value ? std::to_string(value) : "-0"); }
  bool number_float(double, const std::string& text) { return scalar(text); }
  bool binary(std::vector<std::uint8_t>&) { return scalar("binary"); }

  bool number_unsigned(std::uint64_t value) {
    if (place_ != ParserState::shape && place_ != ParserState::offsets)
      return scalar(std::to_string(value));
    constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
    if (value > limit) bad("'{}' holds {}, above 2^63 - 1", field_, value);
    if (place_ == ParserState::shape) {
      if (entry().shape.size() == max_rank) bad("expected at most {} dimensions", max_rank);
      entry().shape.push_back(static_cast<Index>(value));
    } else {
      if (offsets_ == 2) bad("'data_offsets' holds more than two numbers");
      (offsets_++ == 0 ? entry().begin : entry().end) = value;
    }
    return true;
  }

  bool string(std::string& value) {
    if (place_ == ParserState::metadata) {
      if (header_.metadata.size() == max_entries)
        fail("{}: more than {} metadata keys", file_, max_entries);
      header_.metadata.emplace_back(std::move(field_), std::move(value));
      return true;
    }
    if (place_ != ParserState::entry || field_ != "dtype") return scalar("a string");
    const std::optional<DType> dtype = dtype_from(value);
    if (!dtype) bad("unknown dtype {}", shown(value));
    entry().dtype = *dtype;
    return true;
  }

  bool key(std::string& key) {
    if (place_ == ParserState::root) {
      start_value(key);
    } else if (place_ == ParserState::entry) {
      start_field(key);
    } else if (place_ == ParserState::metadata) {
      field_ = std::move(key);
    }
    return true;
  }

  bool start_object(std::size_t) {
    if (place_ == ParserState::top) {
      place_ = ParserState::root;
    } else if (place_ == ParserState::root) {
      place_ = in_metadata_ ? ParserState::metadata : ParserState::entry;
    } else {
      start_nested("an object");
    }
    return true;
  }

  bool end_object() {
    if (place_ == ParserState::skipped) {
      end_nested();
    } else if (place_ == ParserState::root) {
      place_ = ParserState::top;
    } else {
      if (place_ == ParserState::entry) finish_entry();
      place_ = ParserState::root;
    }
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ == ParserState::entry && field_ == "shape") {
      place_ = ParserState::shape;
    } else if (place_ == ParserState::entry && field_ == "data_offsets") {
      place_ = ParserState::offsets;
    } else {
      start_nested("an array");
    }
    return true;
  }

  bool end_array() {
    if (place_ == ParserState::skipped) {
      end_nested();
      return true;
    }
    if (place_ == ParserState::offsets && offsets_ != 2)
      bad("'data_offsets' holds {}, not two numbers", offsets_ == 0 ? "nothing" : "one number");
    place_ = ParserState::entry;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& e) {
    constexpr int out_of_range = 406;
    fail("{}: header: invalid JSON at byte {} of the file{}", file_, 7 + position,
         e.id == out_of_range ? ": number beyond the range of a double" : "");
  }

  SafetensorsHeader take() {
    refuse_twins();
    if (unknown_fields_ > 0)
      warn("{}: {}{}", file_, unknown_,
           unknown_fields_ > 1 ? fmt::format(", like {} others", unknown_fields_ - 1) : "");
    return std::move(header_);
  }

 private:
  // The position of the next value or key.
  enum class ParserState { top, root, metadata, entry, shape, offsets, skipped };

  SafetensorsEntry& entry() { return header_.entries.back(); }

  template <class... A>
  [[noreturn]] void bad(fmt::format_string<A...> text, A&&... args) {
    fail("{}: {}: {}", file_, shown(entry().name), fmt::format(text, std::forward<A>(args)...));
  }

  void start_value(std::string& name) {
    in_metadata_ = name == metadata_name;
    if (in_metadata_) {
      if (seen_metadata_) fail("{}: '{}' appears twice", file_, metadata_name);
      seen_metadata_ = true;
      return;
    }
    if (header_.entries.size() == max_entries) fail("{}: more than {} tensors", file_, max_entries);
    header_.entries.emplace_back();
    entry().name = std::move(name);
    fields_.clear();
    offsets_ = 0;
    check_name();
  }

  void check_name() {
    if (entry().name.empty()) fail("{}: a tensor has an empty name", file_);
    if (const std::string why = why_no_name(entry().name); !why.empty()) bad("{}", why);
  }

  void start_field(std::string& name) {
    if (std::find(fields_.begin(), fields_.end(), name) != fields_.end())
      bad("field {} appears twice", shown(name));
    if (fields_.size() == max_fields) bad("has more than {} fields", max_fields);
    fields_.push_back(name);
    field_ = std::move(name);
    if (is_known(field_)) return;
    if (unknown_fields_++ == 0)
      unknown_ = fmt::format("{}: unknown field {} is ignored", shown(entry().name), shown(field_));
  }

  static bool is_known(std::string_view field) {
    return field == "dtype" || field == "shape" || field == "data_offsets";
  }

  void finish_entry() {
    for (const char* field : {"dtype", "shape", "data_offsets"})
      if (std::find(fields_.begin(), fields_.end(), field) == fields_.end())
        bad("missing '{}'", field);
  }

  // A value in an unexpected position, which is an error outside of skipped fields.
  bool scalar(std::string_view got) {
    if (place_ != ParserState::skipped && !(place_ == ParserState::entry && !is_known(field_)))
      unexpected(got);
    return true;
  }

  void start_nested(std::string_view got) {
    scalar(got);
    if (++depth_ > max_depth)
      bad("field {} is nested more than {} deep", shown(fields_.back()), max_depth);
    place_ = ParserState::skipped;
  }

  void end_nested() {
    if (--depth_ == 0) place_ = ParserState::entry;
  }

  [[noreturn]] void unexpected(std::string_view value) {
    const std::string got = printable(value.substr(0, 40)) + (value.size() > 40 ? "..." : "");
    switch (place_) {
      case ParserState::top:
        fail("{}: header: expected an object, got {}", file_, got);
      case ParserState::root:
        if (in_metadata_) fail("{}: '{}': expected an object, got {}", file_, metadata_name, got);
        bad("expected an object, got {}", got);
      case ParserState::metadata:
        fail("{}: metadata {}: expected a string, got {}", file_, shown(field_), got);
      case ParserState::entry:
        bad("'{}': expected {}, got {}", field_, field_ == "dtype" ? "a string" : "an array", got);
      default:
        bad("'{}': expected unsigned integers, got {}", field_, got);
    }
  }

  // Sorts, since a file could choose names that collide in a hash table.
  void refuse_twins() {
    std::vector<std::string_view> names;
    for (const SafetensorsEntry& e : header_.entries) names.push_back(e.name);
    if (const auto* twin = find_twin(names)) fail("{}: {} appears twice", file_, shown(*twin));
    names.clear();
    for (const auto& [key, value] : header_.metadata) names.push_back(key);
    if (const auto* twin = find_twin(names))
      fail("{}: metadata {} appears twice", file_, shown(*twin));
  }

  static const std::string_view* find_twin(std::vector<std::string_view>& names) {
    std::sort(names.begin(), names.end());
    const auto twin = std::adjacent_find(names.begin(), names.end());
    return twin == names.end() ? nullptr : &*twin;
  }

  const std::string& file_;
  SafetensorsHeader header_;
  ParserState place_ = ParserState::top;
  bool in_metadata_ = false, seen_metadata_ = false;
  std::vector<std::string> fields_;  // of the current entry
  std::string field_;                // key of the next value
  int offsets_ = 0;                  // number of data_offsets read
  int depth_ = 0;                    // inside a skipped value
  std::size_t unknown_fields_ = 0;
  std::string unknown_;  // the first unknown field
};

}  // namespace

SafetensorsHeader read_header_text(std::string_view json, const std::string& file) {
  const std::size_t first = json.find_first_not_of(" \t\r\n");
  if (first == json.npos || json[first] != '{') fail("{}: header: expected a JSON object", file);
  // The parser takes a zero byte for the end of the text.
  if (const std::size_t zero = json.find('\0'); zero != json.npos)
    fail("{}: header: NUL byte at byte {} of the file (pad with blanks)", file, 8 + zero);
  HeaderReader reader(file);
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader, nlohmann::json::input_format_t::json,
                            true);
  return reader.take();
}

std::string shown(std::string_view name) {
  constexpr std::size_t line = 100;
  return name.size() <= line ? quote(name) : quote(name.substr(0, line)) + "...";
}

}  // namespace sten
