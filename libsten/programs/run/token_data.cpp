// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/token_data.h"

#include <algorithm>
#include <functional>

#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"
#include "libsten/data/examples.h"
#include "libsten/data/json_lines.h"
#include "libsten/data/text_documents.h"
#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/files/system/data_file.h"
#include "libsten/model/execution/generation.h"
#include "libsten/model/nn/gpt.h"

namespace sten {
namespace {

using Ids = std::vector<std::int64_t>;

// Tokens, of which the last `predicted` ones count.
struct TokenRow {
  Ids tokens;
  Index predicted;
};

Ids encode(const Tokenizer& tokenizer, std::string_view text, const std::string& name) {
  const Array<TokenId> ids = tokenizer.encode(text, name);
  return {ids.begin(), ids.end()};
}

std::size_t code_points(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) next_code_point(text, at);
  return count;
}

// Shorter rows are filled up on the right, which causal attention does not see.
class TokenBatches final : public RunData {
 public:
  explicit TokenBatches(const ModelSource& source)
      : weights_(source.weights), model_(read_model(source, false)) {
    if (source.what.model.kind == "bert")
      fail_usage("{}: expected a causal language model, got a BERT", source.name);
    if (source.what.vocabulary.empty())
      fail_usage("{}: a text needs a tokenizer, not found beside the model", source.name);
    tokenizer_ = read_tokenizer(source.what.vocabulary);
  }

  void read_text_windows(const DataOptions& o) {
    const auto& positions = model_.positions;
    if (o.window == 0 && !positions)
      fail_usage("--stride needs --window: {} has no limit of positions", model_.name);
    const Index window = o.window > 0 ? o.window : *positions,
                stride = o.stride > 0 ? o.stride : window;
    if (window < 2) fail_usage("--window must be >= 2, got {}", window);
    if (stride > window) fail_usage("--stride must be 1 to --window {}, got {}", window, stride);
    if (positions && window > *positions)
      fail_usage("--window {} exceeds the {} positions of {}", window, *positions, model_.name);
    read_windows(o.path, window, stride);
  }

  // All of a text in the windows of the model's recipe.
  void read_whole_text(const std::string& path, Index window) {
    if (model_.positions && window > *model_.positions)
      fail_usage("data.window {} exceeds the {} positions of {}", window, *model_.positions,
                 model_.name);
    read_windows(path, window + 1, window);
    split_ = "all";
  }
  std::string split() const override { return split_; }

  // The last token of a window has no position, since it is only predicted.
  void read_windows(const std::string& path, Index window, Index stride) {
    const Array<TokenId> text = read_text(path, *tokenizer_);
    check_known({text.data(), text.size()}, *tokenizer_, path, tokenizer_->name());
    const TokenSequence whole =
        tokenizer_->sequence({text.data(), text.size()}, nullptr, max_token_id);
    const Index n = std::ssize(whole.ids);
    if (n < 2) fail("{}: expected 2 tokens or more, got {}", printable(path), n);
    length_ = std::min(window, n) - 1;
    rows_ = 1 + ceil_div(std::max<Index>(0, n - window), stride);
    row_ = [=, ids = Ids(whole.ids.begin(), whole.ids.end())](Index r) {
      const Index begin = r * stride, end = std::min(begin + window, n),
                  before = r == 0 ? 1 : begin - stride + window;
      // The first token of a window has no context.
      return TokenRow{{ids.begin() + begin, ids.begin() + end},
                      std::min(end - before, end - begin - 1)};
    };
  }

  // The tokens of a choice are those of prompt and choice after those of the prompt, as in
  // lm-evaluation-harness: blanks at the end of the prompt belong to the choice.
  void read_questions(const DataOptions& o) {
    const MappedFile file = open_data(o.path);
    const std::string name = printable(o.path);
    const auto& positions = model_.positions;
    std::vector<TokenRow> rows;
    each_json_line(text_of(file.bytes()), name, [&](Index line, const auto& json) {
      const std::string here = fmt::format("{}: line {}", name, line);
      const JsonReader question(json, here, Fault::input);
      std::string prompt = question["prompt"].text();
      const std::string delimiter = question.has("delimiter") ? question["delimiter"].text() : " ";
      const std::vector<std::string> choices = question["choices"].texts();
      const Index answer = question["answer"].integer();
      if (answer < 0 || answer >= std::ssize(choices))
        question["answer"].fail(
            fmt::format("expected an index of the {} choices, got {}", choices.size(), answer));
      const std::size_t end = prompt.size() - spaces_at_end(prompt);
      const std::string blanks = prompt.substr(end);
      prompt.resize(end);
      Ids context = encode(*tokenizer_, prompt, here);
      const auto start = context.empty() ? start_token(here) : std::nullopt;
      ChoiceQuestion q{std::ssize(rows), answer, {}};
      for (const std::string& choice : choices) {
        Ids all = encode(*tokenizer_, prompt + blanks + delimiter + choice, here);
        const Index predicted = std::ssize(all) - std::ssize(context);
        if (start) all.insert(all.begin(), *start);
        if (predicted < 1) fail("{}: choice {} has no tokens", here, quote(choice));
        if (positions && std::ssize(all) - 1 > *positions)
          fail("{}: {} tokens exceed the {} positions of {}", here, all.size() - 1, *positions,
               model_.name);
        rows.push_back({std::move(all), predicted});
        q.lengths.push_back(static_cast<double>(code_points(choice)));
      }
      questions_.push_back(std::move(q));
    });
    if (questions_.empty()) fail("{}: expected questions, got none", name);
    rows_ = std::ssize(rows);
    for (const TokenRow& row : rows) length_ = std::max(length_, std::ssize(row.tokens) - 1);
    row_ = [rows = std::move(rows)](Index r) { return rows[static_cast<std::size_t>(r)]; };
  }

  // 0: as many rows as have `usual_tokens`, whose logits are in memory.
  void set_batch(Index rows) {
    constexpr Index usual_tokens = 1024;
    batch_ = rows > 0 ? rows : std::max<Index>(1, usual_tokens / (length_ + 1));
  }

  Index batches() const override { return ceil_div(rows_, batch_); }
  RunBatch batch(Index i) const override {
    const Index first = i * batch_, n = std::min(rows_ - first, batch_);
    Dense ids = Dense::zeros(DType::I64, {n, length_}), labels = ids;
    std::int64_t* const id = ids.values.mutate<std::int64_t>().data();
    std::int64_t* const label = labels.values.mutate<std::int64_t>().data();
    std::fill_n(label, n * length_, ignored_label);
    for (Index r = 0; r < n; ++r) {
      const auto [tokens, predicted] = row_(first + r);
      std::copy(tokens.begin(), tokens.end() - 1, id + r * length_);
      const Index from = std::ssize(tokens) - predicted;
      std::copy(tokens.begin() + from, tokens.end(), label + r * length_ + from - 1);
    }
    RunBatch b{gpt_inputs(std::move(ids)), std::move(labels), n};
    std::erase_if(b.inputs, [&](const auto& in) {
      return !std::ranges::count(model_.graph.inputs(), in.first);
    });
    return b;
  }
  RunnableModel model(const ModelSource& source) const override {
    return fused(source.weights == weights_ ? model_ : read_model(source, false), batch(0).inputs);
  }
  bool is_text() const override { return questions_.empty(); }
  std::span<const ChoiceQuestion> questions() const override { return questions_; }

 private:
  // Precedes the choices of an empty prompt.
  std::optional<std::int64_t> start_token(const std::string& here) const {
    const SpecialIds special = tokenizer_->special_ids();
    if (special.bos) return *special.bos;
    if (special.eos) return *special.eos;
    fail("{}: expected a prompt, since the tokenizer has no start token", here);
  }

  std::shared_ptr<const Checkpoint> weights_;
  RunnableModel model_;
  Index batch_ = 1;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::string split_;
  Index rows_ = 0, length_ = 0;  // of all rows
  std::function<TokenRow(Index)> row_;
  std::vector<ChoiceQuestion> questions_;
};

bool is_questions(const ModelSource& source, const std::string& path) {
  return path.ends_with(".jsonl") && source.what.model.kind != "bert";
}

}  // namespace

bool is_token_data(const ModelSource& source, const DataOptions& o) {
  return o.window > 0 || o.stride > 0 || is_questions(source, o.path);
}

std::unique_ptr<RunData> token_data(const ModelSource& source, const DataOptions& o, Index window) {
  auto data = std::make_unique<TokenBatches>(source);
  if (is_questions(source, o.path)) {
    if (o.window > 0 || o.stride > 0)
      fail_usage("{} needs --data of a text, got questions",
                 o.window > 0 ? "--window" : "--stride");
    data->read_questions(o);
  } else if (o.window == 0 && o.stride == 0) {
    data->read_whole_text(o.path, window);
  } else {
    if (o.path.empty() || o.path.ends_with(".json"))
      fail_usage("{} needs --data of a text", o.window > 0 ? "--window" : "--stride");
    data->read_text_windows(o);
  }
  data->set_batch(o.batch);
  return data;
}

}  // namespace sten
