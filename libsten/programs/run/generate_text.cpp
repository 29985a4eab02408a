#include "libsten/programs/run/generate_text.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/random.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/model/execution/generation.h"
#include "libsten/model/nn/gpt.h"
#include "libsten/programs/run/model_layouts.h"
#include "libsten/programs/run/model_precision.h"
#include "libsten/programs/run/plan_report.h"

namespace sten {
namespace {

using Clock = std::chrono::steady_clock;

void check_sampling(const GenerationOptions& o) {
  if (!o.text || o.text->empty())
    fail_usage("--generate needs --text 'TEXT' of 1 character or more");
  if (o.top && !o.temperature) fail_usage("--top needs --temperature");
  if (o.temperature && !(*o.temperature > 0 && std::isfinite(*o.temperature)))
    fail_usage("--temperature must be > 0, got {}", *o.temperature);
}

// Names the first character that has the id of unknown characters.
[[noreturn]] void fail_unknown(const std::string& text, const Array<TokenId>& ids, TokenId unknown,
                               const std::string& file) {
  std::size_t begin = 0, end = 0;
  for (const TokenId id : ids) {
    begin = end;
    next_code_point(text, end);
    if (id == unknown) break;
  }
  fail_usage("--text: the character {} has no id in {}", quote(text.substr(begin, end - begin)),
             file);
}

// The ids of the prompt's characters or subwords. Error for unknown ones.
std::vector<std::int64_t> prompt_ids(const std::string& text, const Tokenizer& tokenizer) {
  const Array<TokenId> ids = tokenizer.encode(text, "--text");
  const auto unknown = tokenizer.special_ids().unk;
  if (unknown && tokenizer.kind() == "characters" && std::ranges::count(ids, *unknown) > 0)
    fail_unknown(text, ids, *unknown, tokenizer.name());
  return {ids.begin(), ids.end()};
}

// Chooses the next token: the likeliest one, or a random one.
class Picker {
 public:
  Picker(const GenerationOptions& o, const Tokenizer& tokenizer)
      : temperature_(o.temperature),
        top_(o.top.value_or(0)),
        seed_(seed_for(o.seed, "generate")),
        ordinary_(tokenizer.ordinary()) {}

  TokenId operator()(std::span<const float> logits) {
    std::vector<std::pair<double, TokenId>> all;
    for (const TokenId id : ordinary_)
      if (id < std::ssize(logits) && std::isfinite(logits[id])) all.emplace_back(logits[id], id);
    if (all.empty()) fail("logits are NaN for every token");
    const auto is_likelier = [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    if (!temperature_) return std::ranges::min_element(all, is_likelier)->second;
    std::ranges::sort(all, is_likelier);
    if (top_ > 0 && top_ < std::ssize(all)) all.resize(static_cast<std::size_t>(top_));
    const double most = all.front().first;
    double sum = 0;
    for (auto& [weight, id] : all) sum += weight = std::exp((weight - most) / *temperature_);
    double left = sum * random_uniform(seed_, drawn_++);
    for (const auto& [weight, id] : all)
      if ((left -= weight) < 0) return id;
    return all.back().second;
  }

 private:
  std::optional<double> temperature_;
  Index top_;
  std::uint64_t seed_, drawn_ = 0;
  std::vector<TokenId> ordinary_;
};

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

struct Phase {
  const char* name;
  Index tokens = 0;
  double seconds = 0;
  double ms() const { return 1e3 * seconds / static_cast<double>(tokens); }
  double rate() const { return static_cast<double>(tokens) / seconds; }
};

void add_phase(const Phase& p, Report& r) {
  if (p.tokens == 0) return;
  auto& row = r.rows.emplace_back();
  r.at(row, "phase") = std::string(p.name);
  r.at(row, "tokens") = p.tokens;
  r.at(row, "ms") = 1e3 * p.seconds;
  r.at(row, "ms_per_token") = p.ms();
  r.at(row, "tokens_per_second") = p.rate();
  r.facts.emplace_back(fmt::format("{}/tokens", p.name), p.tokens);
  r.facts.emplace_back(fmt::format("{}/seconds", p.name), p.seconds);
  r.facts.emplace_back(fmt::format("{}/tokens_per_second", p.name), p.rate());
}

}  // namespace

Outcome generate_text(const ModelOptions& of, const GenerationOptions& o) {
  check_sampling(o);
  ModelSource source = find_model(of.path);
  describe_by(of.config, source);
  RunnableModel model = model_that_generates(source);
  const std::string& file = source.what.vocabulary;
  if (file.empty()) fail_usage("--generate: tokenizer not found beside {}", source.name);
  const auto tokenizer = read_tokenizer(file);
  const std::vector<std::int64_t> prompt = prompt_ids(*o.text, *tokenizer);
  const Index count = std::ssize(prompt), most = count + o.count;
  if (const auto n = positions_of(model.graph); n && most > *n)
    fail_usage("--generate: {} tokens and {} more exceed the {} positions of {}", count, o.count,
               *n, source.name);
  std::vector<PrecisionRule> precision = read_precision(of.precision, model.graph, source.name);
  SetLayouts layouts;
  if (!of.layouts.empty())
    layouts = set_layouts(of.layouts, one_token(model.graph), precision, model);
  layouts.ignored = ignored_zeros(model.graph, model.weights, &layouts.sparse);
  Generation run(std::move(model.graph), std::move(model.weights), most, std::move(precision));
  Picker pick(o, *tokenizer);

  Phase prefill{"prefill"}, decode{"decode"};
  std::vector<TokenId> made;
  std::int64_t next = 0;
  for (Index i = 0; i < o.count; ++i) {
    const std::span<const std::int64_t> ids =
        i == 0 ? std::span<const std::int64_t>(prompt) : std::span<const std::int64_t>(&next, 1);
    // The first run of each shape fills caches and is not timed.
    if (i < 2) {
      const Index before = run.tokens();
      run.run(ids);
      run.rewind(before);
    }
    const Clock::time_point begin = Clock::now();
    const std::span<const float> logits = run.run(ids);
    const std::chrono::duration<double> took = Clock::now() - begin;
    Phase& phase = i == 0 ? prefill : decode;
    phase.tokens += std::ssize(ids);
    phase.seconds += took.count();
    next = pick(logits);
    made.push_back(static_cast<TokenId>(next));
  }

  const std::string text = *o.text + tokenizer->decode(made);
  Outcome outcome;
  Report& r = outcome.report;
  r.program = "sten-run";
  r.item = "phases";
  r.columns = {{"phase", "phase", Unit::text},
               {"tokens", "tokens", Unit::count},
               {"ms", "ms", Unit::measured},
               {"ms_per_token", "ms a token", Unit::measured},
               {"tokens_per_second", "tokens a second", Unit::measured}};
  r.facts = {{"model", source.name},
             {"prompt", *o.text},
             {"text", text},
             {"positions", most},
             {"memory/cache", run.cache_bytes()}};
  if (o.temperature) {
    r.facts.emplace_back("temperature", *o.temperature);
    r.facts.emplace_back("seed", static_cast<Index>(o.seed));
  }
  if (o.top) r.facts.emplace_back("top", *o.top);
  for (const Phase& p : {prefill, decode}) add_phase(p, r);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    r.notes.push_back(printable(text.substr(at, end - at)));
    at = end + 1;
  }
  add_layouts(layouts, r);
  add_precision_facts(of.precision, r);
  if (of.explain) {
    for (const Phase& p : {prefill, decode})
      if (p.tokens > 0)
        r.notes.push_back(fmt::format("{}: {} tokens, {:.3g} ms a token, {:.4g} a second", p.name,
                                      p.tokens, p.ms(), p.rate()));
    PlanSums last;
    last.add(run.plan());
    last.explain(layouts.measured, r);
  }
  outcome.details = {"this process multiplies dense matrices by " + dense_library().name};
  return outcome;
}

}  // namespace sten
