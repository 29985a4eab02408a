// SPDX-License-Identifier: Apache-2.0
// Labelled texts as batches of a BERT.
#include <algorithm>
#include <map>
#include <set>

#include "libsten/core/base/error.h"
#include "libsten/core/base/hash.h"
#include "libsten/core/base/name_list.h"
#include "libsten/core/base/text.h"
#include "libsten/data/labelled_text.h"
#include "libsten/model/nn/bert.h"
#include "libsten/training/task/data.h"
#include "libsten/training/task/f1.h"
#include "libsten/training/task/recipe_tokenizer.h"
#include "libsten/training/task/row_data.h"

namespace sten {
namespace {

constexpr Index max_number_label = 10000;

// Concatenated rows of tokens.
struct TokenRows {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> types;
  std::vector<std::int64_t> labels;  // per token, or per row
  std::vector<Index> ends{0};        // row r has tokens ends[r] to ends[r + 1] - 1
  bool by_token = false;
  TokenId pad = 0;

  Index count() const { return std::ssize(ends) - 1; }
  Index length(Index r) const { return ends[r + 1] - ends[r]; }
  std::uint64_t hashed(std::uint64_t hash) const {
    hash = hash_bytes(hash, std::as_bytes(std::span(ids)));
    hash = hash_bytes(hash, std::as_bytes(std::span(labels)));
    return hash_bytes(hash, std::as_bytes(std::span(ends)));
  }
  BatchPart part(std::span<const Index> rows, std::optional<Index> epoch) const;
};

class LabelIndices {
 public:
  LabelIndices(std::vector<std::string> names, std::string model)
      : names_(std::move(names)), model_(std::move(model)) {
    for (std::size_t i = 0; i < names_.size(); ++i)
      numbers_.emplace(names_[i], static_cast<Index>(i));
  }
  // The index of a label by its name; or by its number, if no class has this name.
  Index operator()(const std::string& label, const std::string& here) const {
    const auto at = numbers_.find(label);
    if (at != numbers_.end()) return at->second;
    if (const auto number = number_of(label); number && *number < std::ssize(names_))
      return *number;
    fail("{}: unknown label {}{} (expected one of {} in {})", here, quote(label),
         suggestion(label, names_), name_list(names_), model_);
  }
  const std::vector<std::string>& names() const { return names_; }

  // The number, if the text is a canonical decimal.
  static std::optional<Index> number_of(const std::string& label) {
    if (label.empty() || label.size() > 5) return std::nullopt;
    Index n = 0;
    for (const char c : label) {
      if (c < '0' || c > '9') return std::nullopt;
      n = 10 * n + (c - '0');
    }
    return std::to_string(n) == label ? std::optional(n) : std::nullopt;
  }

  static std::vector<std::string> names_of(const std::set<std::string>& labels) {
    Index most = -1;
    for (const std::string& label : labels) {
      const auto n = number_of(label);
      if (!n || *n >= max_number_label) return {labels.begin(), labels.end()};
      most = std::max(most, *n);
    }
    std::vector<std::string> names;
    for (Index i = 0; i <= most; ++i) names.push_back(std::to_string(i));
    return names;
  }

 private:
  std::vector<std::string> names_;
  std::string model_;
  std::map<std::string, Index> numbers_;
};

class Encoder {
 public:
  Encoder(const Tokenizer& tokenizer, Index window) : tokenizer_(tokenizer), window_(window) {
    const TokenId text_here = -1;
    const auto around = tokenizer.sequence(std::span(&text_here, 1), nullptr, max_token_id).ids;
    before_ = std::ranges::find(around, text_here) - around.begin();
    if (window < std::ssize(around))
      fail_usage("data.window {} is too short for {} special tokens", window,
                 std::ssize(around) - 1);
  }

  void add(const LabelledText& row, bool has_pair, Index label, const std::string& here,
           TokenRows& to) const {
    const Array<TokenId> a = tokenizer_.encode(row.text, here),
                         b = tokenizer_.encode(row.pair, here);
    const std::span<const TokenId> second(b.data(), b.size());
    add(tokenizer_.sequence({a.data(), a.size()}, has_pair ? &second : nullptr, window_), to);
    to.labels.push_back(label);
  }
  // The label of a word belongs to its first token.
  void add(const LabelledWords& row, const std::vector<Index>& labels, const std::string& here,
           TokenRows& to) const {
    std::vector<TokenId> ids;
    std::vector<std::int64_t> of(static_cast<std::size_t>(before_), ignored_label);
    for (std::size_t w = 0; w < row.words.size(); ++w) {
      const Array<TokenId> word = tokenizer_.encode(row.words[w], here);
      ids.insert(ids.end(), word.data(), word.data() + word.size());
      for (std::size_t i = 0; i < word.size(); ++i)
        of.push_back(i == 0 ? labels[w] : ignored_label);
    }
    const TokenSequence s = tokenizer_.sequence(ids, nullptr, window_);
    const Index kept = std::ssize(s.ids) - tokenizer_.around();
    of.resize(static_cast<std::size_t>(before_ + kept));
    of.resize(s.ids.size(), ignored_label);
    add(s, to);
    to.labels.insert(to.labels.end(), of.begin(), of.end());
  }

 private:
  static void add(const TokenSequence& s, TokenRows& to) {
    to.ids.insert(to.ids.end(), s.ids.begin(), s.ids.end());
    for (const std::int32_t t : s.types) to.types.push_back(static_cast<std::uint8_t>(t));
    to.ends.push_back(std::ssize(to.ids));
  }

  const Tokenizer& tokenizer_;
  Index window_, before_ = 0;
};

// Inputs [B, T], padded to the longest row of the batch.
BatchPart TokenRows::part(std::span<const Index> rows, std::optional<Index>) const {
  Index longest = 0;
  for (const Index r : rows) longest = std::max(longest, length(r));
  const Shape shape{std::ssize(rows), longest};
  Dense ids = Dense::zeros(DType::I64, shape), types = ids, mask = ids,
        labels = Dense::zeros(DType::I64, by_token ? shape : Shape{shape[0]});
  const auto i = ids.values.mutate<std::int64_t>(), t = types.values.mutate<std::int64_t>(),
             m = mask.values.mutate<std::int64_t>(), y = labels.values.mutate<std::int64_t>();
  std::ranges::fill(i, pad);
  if (by_token) std::ranges::fill(y, ignored_label);
  Index predictions = by_token ? 0 : shape[0];
  for (Index b = 0; b < shape[0]; ++b) {
    const Index r = rows[static_cast<std::size_t>(b)], begin = ends[static_cast<std::size_t>(r)];
    if (!by_token) y[b] = this->labels[static_cast<std::size_t>(r)];
    for (Index k = 0; k < length(r); ++k) {
      const auto from = static_cast<std::size_t>(begin + k);
      const Index at = b * longest + k;
      i[at] = this->ids[from];
      t[at] = this->types[from];
      m[at] = 1;
      if (!by_token) continue;
      y[at] = this->labels[from];
      predictions += y[at] != ignored_label;
    }
  }
  NamedValues<Tensor> in = bert_inputs(ids);
  in.insert_or_assign("token_type_ids", std::move(types));
  in.emplace("attention_mask", std::move(mask));
  in.emplace("labels", std::move(labels));
  return {std::move(in), predictions};
}

// Reads a file of the recipe; `Row` is LabelledText or LabelledWords.
template <class Row>
struct RecipeFile {
  std::string name;
  std::vector<Row> rows;
};

std::vector<LabelledText> read_rows(LabelledText*, const std::string& path, const TextColumns& c) {
  return read_labelled_text(path, c);
}
std::vector<LabelledWords> read_rows(LabelledWords*, const std::string& path,
                                     const TextColumns& c) {
  return read_labelled_words(path, c);
}

std::vector<std::string> labels_of_row(const LabelledText& row) { return {row.label}; }
std::vector<std::string> labels_of_row(const LabelledWords& row) { return row.labels; }

template <class Row>
TokenRows encoded(const RecipeFile<Row>& file, const Encoder& encoder, const LabelIndices& numbers,
                  bool has_pair, TokenId pad) {
  TokenRows all;
  all.pad = pad;
  all.by_token = std::is_same_v<Row, LabelledWords>;
  for (const Row& row : file.rows) {
    const std::string here = fmt::format("{}: line {}", file.name, row.line);
    std::vector<Index> labels;
    for (const std::string& label : labels_of_row(row)) labels.push_back(numbers(label, here));
    if constexpr (std::is_same_v<Row, LabelledText>)
      encoder.add(row, has_pair, labels.front(), here, all);
    else
      encoder.add(row, labels, here, all);
  }
  return all;
}

template <class Row>
LabelledData labelled_data(const Recipe& r, const Tokenizer& tokenizer,
                           const std::vector<std::string>& labels) {
  const DataRecipe& d = r.data;
  const TextColumns columns{d.text_column, d.has_labels ? d.label_column : "", d.pair_column};
  std::vector<RecipeFile<Row>> files;
  for (const std::string& path : {d.file, d.test_file})
    if (!path.empty())
      files.push_back({printable(path), read_rows(static_cast<Row*>(nullptr), path, columns)});
  std::set<std::string> seen_labels;
  for (const RecipeFile<Row>& file : files)
    for (const Row& row : file.rows)
      for (std::string& label : labels_of_row(row)) seen_labels.insert(std::move(label));
  const std::set<std::string> of_file =
      d.has_labels ? seen_labels : std::set<std::string>{"0", "1"};
  const LabelIndices numbers(labels.empty() ? LabelIndices::names_of(of_file) : labels,
                             printable(r.model.config));
  if (numbers.names().size() < 2)
    fail("{}: expected 2 or more labels, got {}", files.front().name, quote(*seen_labels.begin()));
  const Encoder encoder(tokenizer, d.window);
  const auto rows_of = [&](const RecipeFile<Row>& file) {
    return encoded(file, encoder, numbers, !d.pair_column.empty(),
                   tokenizer.special_ids().pad.value_or(0));
  };
  TokenRows rows = rows_of(files.front());
  std::optional<TokenRows> test;
  if (files.size() > 1) test = rows_of(files.back());
  return {std::make_shared<RowData<TokenRows>>(r, std::move(rows), std::move(test)),
          numbers.names()};
}

}  // namespace

LabelledData read_labelled_data(const Recipe& r, Index vocabulary, Index positions,
                                const std::vector<std::string>& labels) {
  const auto tokenizer = recipe_tokenizer(r, vocabulary, "the model's vocab_size is");
  if (r.data.window > positions)
    fail_usage("data.window {} is above max_position_embeddings {} of the model", r.data.window,
               positions);
  return r.data.kind == "labelled-words" ? labelled_data<LabelledWords>(r, *tokenizer, labels)
                                         : labelled_data<LabelledText>(r, *tokenizer, labels);
}

}  // namespace sten
