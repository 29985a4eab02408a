// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/generate_text.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/interrupt.h"
#include "libsten/core/base/text.h"
#include "libsten/model/nn/gpt.h"
#include "libsten/programs/run/end_tokens.h"
#include "libsten/programs/run/model_layouts.h"
#include "libsten/programs/run/model_precision.h"
#include "libsten/programs/run/plan_report.h"

namespace sten {
namespace {

constexpr Index usual_batch = 8;

// Graphs that sten builds compute the logits of the last token only.
RunnableModel model_that_generates(const ModelSource& source) {
  RunnableModel model = fused(read_model(source, false, true));
  try {
    check_generates(model.graph);
  } catch (const Error& e) {
    fail_usage("--generate: {}: {}", source.name, e.what());
  }
  return model;
}

// Inputs of one token, as after the prompt.
NamedValues<Tensor> one_token(const Graph& g) {
  NamedValues<Tensor> all = gpt_inputs(Dense::zeros(DType::I64, {1, 1}));
  std::erase_if(all, [&](const auto& in) { return !std::ranges::count(g.inputs(), in.first); });
  return all;
}

// The number of tokens of the longest text. Error for more than the model has positions.
Index longest(const std::vector<Prompt>& prompts, Index count, const RunnableModel& model) {
  const auto& positions = model.positions;
  Index most = 0;
  for (const Prompt& p : prompts) {
    const Index tokens = std::ssize(p.ids);
    if (positions && tokens + count > *positions)
      fail_usage("{}: {} tokens and {} more exceed the {} positions of {}", p.name, tokens, count,
                 *positions, model.name);
    most = std::max(most, tokens + count);
  }
  return most;
}

// A text whose lines are notes.
void add_lines(const std::string& text, Report& r) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    r.notes.push_back(printable(text.substr(at, end - at)));
    at = end + 1;
  }
}

// A text for seeds that Index does not have.
Cell seed_cell(std::uint64_t seed) {
  if (seed > static_cast<std::uint64_t>(std::numeric_limits<Index>::max()))
    return std::to_string(seed);
  return static_cast<Index>(seed);
}

class TextGeneration {
 public:
  TextGeneration(const ModelOptions& of, const GenerationOptions& o)
      : of_(of), o_(o), text_(o.text), source_(find_model(of.path)) {
    text_.sampling.check();
    describe_by(of.config, source_);
    RunnableModel model = model_that_generates(source_);
    const std::string& file = source_.what.vocabulary;
    if (file.empty()) fail_usage("--generate: tokenizer not found beside {}", source_.name);
    tokenizer_ = read_tokenizer(file);
    prompts_ = read_prompts(o.prompt, *tokenizer_, file);
    text_.ends =
        end_tokens(has_config(source_.what.model)
                       ? source_.what.model.config
                       : std::filesystem::path(file).replace_filename("config.json").string());
    if (o.prompt.is_list()) text_.print = nullptr;
    batch_ = std::min<Index>(o.batch > 0 ? o.batch : usual_batch, std::ssize(prompts_));
    const Index most = longest(prompts_, text_.count, model);
    std::vector<PrecisionRule> precision = read_precision(of.precision, model.graph, source_.name);
    if (!of.layouts.empty())
      layouts_ = set_layouts(of.layouts, one_token(model.graph), precision, model);
    layouts_.ignored = ignored_zeros(model.graph, model.weights, &layouts_.sparse);
    model_.emplace(std::move(model.graph), std::move(model.weights), most, std::move(precision),
                   batch_);
    model_->time_steps(of_.explain);
    texts_.emplace(*model_, *tokenizer_, text_, !o.prompt.is_list());
  }

  Outcome run() {
    const bool is_list = o_.prompt.is_list();
    if (prints() && !is_list && o_.prompt.chat.empty()) o_.text.print(prompts_.front().text);
    for (std::size_t first = 0; first < prompts_.size() && NotedInterrupts::noted() == 0;
         first += static_cast<std::size_t>(batch_)) {
      const std::size_t n = std::min(static_cast<std::size_t>(batch_), prompts_.size() - first);
      for (TextResult& r : texts_->run(std::span(prompts_).subspan(first, n),
                                       static_cast<Index>(first), first + n == prompts_.size())) {
        if (prints() && is_list) o_.text.print(json_line(prompts_[results_.size()], r));
        results_.push_back(std::move(r));
      }
    }
    if (prints() && !is_list) o_.text.print("\n");
    return {report(),
            std::nullopt,
            {"this process multiplies dense matrices by " + dense_library().name},
            prints()};
  }

 private:
  bool prints() const { return static_cast<bool>(o_.text.print); }

  // The line of the prompt, with its text.
  static std::string json_line(const Prompt& p, const TextResult& r) {
    nlohmann::ordered_json line = p.line;
    line["generated"] = r.text;
    line["tokens"] = r.tokens;
    line["finish"] = r.finish;
    return dump_json(line) + "\n";
  }

  void add_phase(const TextPhase& p, Report& r) const;
  void add_prompts(Report& r) const;
  void add_options(Report& r) const;
  Report report() const;

  const ModelOptions& of_;
  const GenerationOptions& o_;
  TextOptions text_;
  ModelSource source_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<Prompt> prompts_;
  Index batch_ = 1;
  SetLayouts layouts_;
  std::optional<Generation> model_;
  std::optional<TextBatch> texts_;
  std::vector<TextResult> results_;
};

void TextGeneration::add_phase(const TextPhase& p, Report& r) const {
  if (p.tokens == 0) return;
  if (r.item == "phases") {
    auto& row = r.rows.emplace_back();
    r.at(row, "phase") = std::string(p.name);
    r.at(row, "tokens") = p.tokens;
    r.at(row, "ms") = 1e3 * p.seconds;
    r.at(row, "ms_per_token") = p.ms();
    r.at(row, "tokens_per_second") = p.rate();
  }
  r.facts.emplace_back(fmt::format("{}/tokens", p.name), p.tokens);
  r.facts.emplace_back(fmt::format("{}/seconds", p.name), p.seconds);
  r.facts.emplace_back(fmt::format("{}/tokens_per_second", p.name), p.rate());
}

void TextGeneration::add_prompts(Report& r) const {
  r.item = "prompts";
  r.columns = {{"prompt", "prompt", Unit::text},
               {"generated", "generated", Unit::text},
               {"tokens", "tokens", Unit::count},
               {"finish", "finish", Unit::text}};
  for (std::size_t i = 0; i < results_.size(); ++i) {
    auto& row = r.rows.emplace_back();
    r.at(row, "prompt") = prompts_[i].text;
    r.at(row, "generated") = results_[i].text;
    r.at(row, "tokens") = results_[i].tokens;
    r.at(row, "finish") = results_[i].finish;
  }
}

void TextGeneration::add_options(Report& r) const {
  const SamplingOptions& s = text_.sampling;
  if (s.repetition_penalty) r.facts.emplace_back("repetition_penalty", *s.repetition_penalty);
  if (s.temperature) {
    r.facts.emplace_back("temperature", *s.temperature);
    r.facts.emplace_back("seed", seed_cell(text_.seed));
  }
  if (s.top_k) r.facts.emplace_back("top_k", *s.top_k);
  if (s.top_p) r.facts.emplace_back("top_p", *s.top_p);
  if (s.min_p) r.facts.emplace_back("min_p", *s.min_p);
}

Report TextGeneration::report() const {
  Report r;
  r.program = "sten-run";
  r.facts = {{"model", source_.name}};
  if (o_.prompt.is_list() && !prints()) {
    add_prompts(r);
  } else {
    r.item = "phases";
    r.columns = {{"phase", "phase", Unit::text},
                 {"tokens", "tokens", Unit::count},
                 {"ms", "ms", Unit::measured},
                 {"ms_per_token", "ms a token", Unit::measured},
                 {"tokens_per_second", "tokens a second", Unit::measured}};
  }
  if (o_.prompt.is_list()) {
    r.facts.emplace_back("batch", batch_);
  } else {
    const std::string& prompt = prompts_.front().text;
    r.facts.emplace_back("prompt", prompt);
    r.facts.emplace_back("text", prompt + results_.front().text);
    r.facts.emplace_back("generated", results_.front().text);
    r.facts.emplace_back("finish", results_.front().finish);
    if (!prints()) add_lines(prompt + results_.front().text, r);
  }
  Index tokens = 0;
  for (const TextResult& result : results_) tokens += result.tokens;
  r.facts.emplace_back("tokens", tokens);
  r.facts.emplace_back("positions", model_->most());
  r.facts.emplace_back("memory/cache", model_->cache_bytes());
  add_options(r);
  r.figures = {{"prompt tokens per second", Unit::measured, "prefill/tokens_per_second"},
               {"generated tokens per second", Unit::measured, "decode/tokens_per_second"},
               {"generated tokens", Unit::count, "tokens"}};
  for (const TextPhase& p : {texts_->prefill(), texts_->decode()}) add_phase(p, r);
  if (r.item == "phases")
    r.charts = {largest_values_chart(r, "tokens_per_second", "Tokens per second")};
  add_layouts(layouts_, r);
  add_precision_facts(of_.precision, r);
  if (!of_.explain) return r;
  for (const TextPhase& p : {texts_->prefill(), texts_->decode()})
    if (p.tokens > 0)
      r.notes.push_back(fmt::format("{}: {} tokens, {:.3g} ms a token, {:.4g} a second", p.name,
                                    p.tokens, p.ms(), p.rate()));
  r.notes.push_back(fmt::format("KV caches: {} for {} tokens",
                                human_bytes(static_cast<std::uint64_t>(model_->cache_bytes())),
                                model_->most() * batch_));
  PlanSums last;
  last.add(model_->plan());
  last.explain(layouts_.measured, r);
  return r;
}

}  // namespace

Outcome generate_text(const ModelOptions& of, const GenerationOptions& o) {
  if (!o.prompt.is_given()) fail_usage("--generate needs --prompt 'TEXT' of 1 character or more");
  return TextGeneration(of, o).run();
}

}  // namespace sten
