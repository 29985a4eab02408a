// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/csv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/data_file.h"
#include "libsten/files/system/file_kind.h"
#include "libsten/files/tensors/safetensors_header.h"

namespace sten {
namespace {

constexpr std::size_t block_bytes = 1 << 18;
constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view s, std::string_view what = blanks) {
  const std::size_t first = s.find_first_not_of(what);
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(what) - first + 1);
}

// Removes a line from the text and returns it without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Removes a field from the line; false if there is none. Commas in quotes do not separate.
bool take_field(std::string_view& line, bool& more, std::string_view& field) {
  if (!more) return false;
  std::size_t from = std::min(line.find_first_not_of(blanks), line.size());
  if (from < line.size() && line[from] == '"')
    from = std::min(line.find('"', from + 1), line.size());
  const std::size_t comma = line.find(',', from);
  more = comma != line.npos;
  field = trimmed(line.substr(0, comma));
  if (field.size() > 1 && field.front() == '"' && field.back() == '"')
    field = trimmed(field.substr(1, field.size() - 2));
  line.remove_prefix(more ? comma + 1 : line.size());
  return true;
}

// The same for a field that is only a small integer, as most in data sets: several times faster.
bool take_digits(std::string_view& line, bool& more, double& value) {
  std::uint32_t n = 0;
  std::size_t i = 0;
  for (; i < std::min<std::size_t>(line.size(), 9); ++i) {
    const std::uint32_t digit = static_cast<unsigned char>(line[i]) - std::uint32_t{'0'};
    if (digit > 9) break;
    n = n * 10 + digit;
  }
  if (i == 0 || (i < line.size() && line[i] != ',')) return false;
  more = i < line.size();
  line.remove_prefix(more ? i + 1 : i);
  value = n;
  return true;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> all;
  bool more = true;
  for (std::string_view field; take_field(line, more, field);) all.push_back(field);
  return all;
}

bool number_of(std::string_view s, double& value) {
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  return parse_number(s, value) && std::abs(value) <= std::numeric_limits<float>::max();
}

// Whether a field of the first line that is not a number can be a column's name.
bool is_name(std::string_view s) {
  std::string lower(s.substr(0, 9));
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  if (!lower.empty() && (lower[0] == '-' || lower[0] == '+')) lower.erase(0, 1);
  for (const std::string_view none :
       {"", "?", "nan", "na", "n/a", "inf", "infinity", "null", "none"})
    if (lower == none) return false;
  return true;
}

bool is_header(const std::vector<std::string_view>& first, CsvOptions::Header header) {
  if (header != CsvOptions::Header::guess) return header == CsvOptions::Header::present;
  double ignored;
  bool names = false;
  for (const std::string_view field : first) {
    if (number_of(field, ignored)) continue;
    if (!is_name(field)) return false;
    names = true;
  }
  return names;
}

// A block of whole lines.
struct Block {
  std::string_view text;
  Index row = 0;  // of its first line
  std::string problem;
};

std::vector<Block> blocks_of(std::string_view text) {
  std::vector<Block> blocks;
  while (!text.empty()) {
    const std::size_t last = std::min(block_bytes, text.size()) - 1;
    const std::size_t size = std::min(text.find('\n', last), text.size() - 1) + 1;
    blocks.push_back({text.substr(0, size), 0, {}});
    text.remove_prefix(size);
  }
  return blocks;
}

// Calls f(block) for all blocks on the threads; returns the problem of the first faulty block.
template <class F>
void for_blocks(std::vector<Block>& blocks, F&& f) {
  parallel_for(std::ssize(blocks), 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      try {
        f(blocks[i]);
      } catch (const Error& e) {
        blocks[i].problem = e.what();
      }
    }
  });
  for (const Block& b : blocks)
    if (!b.problem.empty()) throw Error(Fault::input, b.problem);
}

class Reader {
 public:
  Reader(std::string_view text, std::string name, const CsvOptions& options)
      : name_(std::move(name)) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte-order mark of Excel
    // Empty lines at the end are ignored.
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    if (text.empty()) fail("{}: no rows found", name_);
    std::string_view rest = text;
    const std::vector<std::string_view> first = fields_of(take_line(rest));
    columns_ = std::ssize(first);
    const bool has_labels = columns_ != options.features;
    if (has_labels && columns_ < 2)
      fail("{}: line 1 has one column: expected features and a label, separated by commas", name_);
    const bool header = is_header(first, options.header);
    if (header && rest.empty()) fail("{}: no rows found after the header", name_);
    first_line_ = header ? 2 : 1;
    label_ = has_labels ? label_column(options.label, first, header) : columns_;
    body_ = header ? rest : text;
  }

  Examples read() const {
    std::vector<Block> blocks = blocks_of(body_);
    const Index rows = count_rows(blocks);
    const Index n = columns_ - (label_ < columns_ ? 1 : 0);
    Examples out{{{rows, n}, Values::uninitialized(DType::F32, rows * n)},
                 {{rows}, Values::uninitialized(DType::I64, rows)}};
    float* features = out.features.values.mutate<float>().data();
    std::int64_t* labels = out.labels.values.mutate<std::int64_t>().data();
    for_blocks(blocks, [&](const Block& b) {
      Index row = b.row;
      for (std::string_view rest = b.text; !rest.empty(); ++row)
        read_row(take_line(rest), row, features + row * n, labels[row]);
    });
    return out;
  }

 private:
  Index label_column(const std::string& label, const std::vector<std::string_view>& first,
                     bool header) const {
    if (label.empty()) return columns_ - 1;
    if (header) {
      const auto at = std::find(first.begin(), first.end(), label);
      if (at != first.end() && std::find(at + 1, first.end(), label) != first.end())
        fail("{}: line 1: column name {} occurs twice", name_, shown(label));
      if (at != first.end()) return at - first.begin();
    }
    std::int64_t number = 0;
    if (parse_integer(label, number) && number >= 1 && number <= columns_) return number - 1;
    if (header)
      fail_usage("{}: unknown column {}{}", name_, shown(label),
                 suggestion(label, {first.begin(), first.end()}));
    fail_usage("{}: column {} not found among {} columns without a header", name_, shown(label),
               columns_);
  }

  // Numbers the rows of blocks. Checks lengths before memory for all rows is allocated.
  Index count_rows(std::vector<Block>& blocks) const {
    std::vector<Index> lines(blocks.size());
    std::vector<std::pair<Index, std::string_view>> uneven(blocks.size());  // line in its block
    parallel_for(std::ssize(blocks), 1, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        for (std::string_view rest = blocks[i].text; !rest.empty(); ++lines[i]) {
          const std::string_view line = take_line(rest);
          if (std::count(line.begin(), line.end(), ',') == columns_ - 1) continue;
          if (!uneven[i].second.data()) uneven[i] = {lines[i], line};
        }
      }
    });
    Index rows = 0;
    for (std::size_t i = 0; i < blocks.size(); rows += lines[i++]) {
      blocks[i].row = rows;
      const auto& [at, line] = uneven[i];
      if (line.data()) refuse_length(rows + at, line);
    }
    return rows;
  }
  [[noreturn]] void refuse_length(Index row, std::string_view line) const {
    if (trimmed(line).empty()) fail("{}: line {} is empty", name_, first_line_ + row);
    const auto n = std::count(line.begin(), line.end(), ',') + 1;
    fail("{}: line {} has {} column{}, expected {} as in line 1", name_, first_line_ + row, n,
         n == 1 ? "" : "s", columns_);
  }

  void read_row(std::string_view line, Index row, float* to, std::int64_t& label) const {
    label = 0;
    bool more = true;
    std::string_view field;
    for (Index c = 0; c < columns_; ++c) {
      const auto refuse = [&](std::string_view why) {
        fail("{}: line {}, column {}: {} {}", name_, first_line_ + row, c + 1, shown(field), why);
      };
      double v = 0;
      if (!more || !take_digits(line, more, v)) {
        if (!take_field(line, more, field) || !number_of(field, v))
          refuse("is not a finite float32 value");
      }
      if (c != label_) {
        *to++ = static_cast<float>(v);
      } else {
        if (v < 0 || v != std::floor(v) || v > 0x1p53)  // take_digits() accepts none of these
          refuse("is not a class index (expected an integer >= 0)");
        label = static_cast<std::int64_t>(v);
      }
    }
  }

  const std::string name_;
  std::string_view body_;
  Index columns_ = 0, first_line_ = 1;
  Index label_ = 0;  // columns_: none
};

}  // namespace

Examples parse_csv(std::span<const std::byte> file, const std::string& file_name,
                   const CsvOptions& options) {
  const std::string name = printable(file_name);
  if (const std::string_view kind = foreign_kind(file); !kind.empty())
    fail("{}: expected comma-separated values, got {}", name, kind);
  return Reader(text_of(file), name, options).read();
}

Examples read_csv(const std::string& path, const CsvOptions& options) {
  const MappedFile file = open_data(path);
  Examples examples = parse_csv(file.bytes(), path, options);
  file.check_unchanged();
  return examples;
}

}  // namespace sten
