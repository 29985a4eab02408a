// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/text_batch.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "libsten/core/base/interrupt.h"
#include "libsten/core/base/random.h"

namespace sten {
namespace {

using Clock = std::chrono::steady_clock;

// Tokens of a prompt that run before the timed run: weights are packed in the same form for all
// prompts above 32 tokens.
constexpr std::size_t most_before_timing = 128;

// The special tokens of a character vocabulary, which no text has. Models with subwords end texts
// by theirs.
std::vector<bool> excluded(const Tokenizer& tokenizer) {
  if (tokenizer.kind() != "characters") return {};
  std::vector<bool> all(static_cast<std::size_t>(tokenizer.size()), true);
  for (const TokenId id : tokenizer.ordinary()) all[static_cast<std::size_t>(id)] = false;
  return all;
}

}  // namespace

struct TextBatch::Sequence {
  Index number;  // in the model
  std::vector<std::int64_t> ids;
  TokenSampler sample;
  GeneratedText text;
  TextResult result{};

  bool is_done() const { return !result.finish.empty(); }
  NextTokens last() const { return {number, std::span(ids).last(1)}; }
  // Ends the text. Returns its rest, in which a stop text may be found.
  std::string end(const char* finish) {
    std::string rest = text.finish();
    result.finish = text.is_stopped() ? "stop" : finish;
    return rest;
  }
};

TextBatch::TextBatch(Generation& model, const Tokenizer& tokenizer, const TextOptions& options,
                     bool is_timed)
    : model_(model),
      tokenizer_(tokenizer),
      options_(options),
      is_timed_(is_timed),
      is_excluded_(excluded(tokenizer)) {}

std::span<const float> TextBatch::timed_run(const std::vector<NextTokens>& next, TextPhase& phase) {
  if (is_timed_ && phase.tokens == 0) {
    std::vector<NextTokens> some = next;
    for (NextTokens& x : some) x.ids = x.ids.first(std::min(x.ids.size(), most_before_timing));
    model_.run_batch(some);
    for (const NextTokens& x : some)
      model_.rewind(model_.tokens(x.sequence) - std::ssize(x.ids), x.sequence);
  }
  const Clock::time_point begin = Clock::now();
  const std::span<const float> logits = model_.run_batch(next);
  phase.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  return logits;
}

// Adds the next token of each sequence in the order of its logits.
void TextBatch::take(std::span<const float> logits, std::vector<Sequence*>& active) {
  const std::size_t classes = logits.size() / active.size();
  std::vector<float> candidates;
  for (std::size_t i = 0; i < active.size(); ++i) {
    Sequence& s = *active[i];
    if (s.is_done()) continue;
    const std::span<const float> own = logits.subspan(i * classes, classes);
    candidates.assign(own.begin(), own.end());
    for (std::size_t id = 0; id < std::min(classes, is_excluded_.size()); ++id)
      if (is_excluded_[id]) candidates[id] = -std::numeric_limits<float>::infinity();
    const Index token = s.sample(candidates, s.ids);
    s.ids.push_back(token);
    ++s.result.tokens;
    const bool is_end = std::ranges::count(options_.ends, token) > 0;
    std::string text = is_end ? "" : s.text.add(static_cast<TokenId>(token));
    if (is_end || s.text.is_stopped() || s.result.tokens == options_.count)
      text += s.end(is_end ? "end" : "length");
    s.result.text += text;
    if (options_.print && s.number == 0 && !text.empty()) options_.print(text);
  }
}

std::vector<TextResult> TextBatch::run(std::span<const Prompt> prompts, Index first, bool is_last) {
  std::vector<Sequence> all;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto number = static_cast<Index>(i);
    const std::string stream =
        first + number == 0 ? "generate" : fmt::format("generate/{}", first + number);
    all.push_back({number, prompts[i].ids,
                   TokenSampler(options_.sampling, seed_for(options_.seed, stream)),
                   GeneratedText(tokenizer_, prompts[i].ids, options_.stops)});
    model_.rewind(0, number);
  }
  std::vector<Sequence*> active;
  std::vector<NextTokens> next;
  for (Sequence& s : all) {
    active.push_back(&s);
    next.push_back({s.number, s.ids});
  }
  std::span<const float> logits = timed_run(next, prefill_);
  for (const Prompt& p : prompts) prefill_.tokens += std::ssize(p.ids);
  take(logits, active);
  if (is_last) model_.release_packed_weights();
  const auto is_running = [](const Sequence* s) { return !s->is_done(); };
  while (std::ranges::any_of(active, is_running) && NotedInterrupts::noted() == 0) {
    // Another number of sequences needs another plan, so that ended sequences run on, at their last
    // token, until they are half of all.
    const auto running = std::ranges::count_if(active, is_running);
    if (2 * running <= std::ssize(active))
      std::erase_if(active, [](const Sequence* s) { return s->is_done(); });
    next.clear();
    for (const Sequence* s : active) {
      model_.rewind(std::ssize(s->ids) - 1, s->number);
      next.push_back(s->last());
    }
    logits = timed_run(next, decode_);
    decode_.tokens += running;
    take(logits, active);
  }
  std::vector<TextResult> results;
  for (Sequence& s : all) {
    if (!s.is_done()) {
      const std::string rest = s.end("interrupted");
      s.result.text += rest;
      if (options_.print && s.number == 0) options_.print(rest);
    }
    results.push_back(std::move(s.result));
  }
  return results;
}

}  // namespace sten
