// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/fill_text.h"

#include <algorithm>
#include <cmath>

#include "libsten/core/base/cuda.h"
#include "libsten/core/base/text.h"
#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/model/nn/bert.h"
#include "libsten/programs/run/given_inputs.h"
#include "libsten/programs/run/model_execution.h"

namespace sten {
namespace {

constexpr std::string_view blank = "[MASK]";

struct MaskedTextIds {
  Dense ids;                  // [1, T]
  std::vector<Index> blanks;  // masked positions
};

MaskedTextIds masked_ids(std::string_view text, const Tokenizer& tokenizer) {
  std::vector<TokenId> ids;
  const TokenId mask = tokenizer.need(tokenizer.special_ids().mask, blank);
  while (true) {
    const std::size_t at = std::min(text.find(blank), text.size());
    for (const TokenId id : tokenizer.encode(text.substr(0, at), "--fill")) ids.push_back(id);
    if (at == text.size()) break;
    ids.push_back(mask);
    text.remove_prefix(at + blank.size());
  }
  ids = tokenizer.sequence(ids, nullptr, max_token_id).ids;
  std::vector<Index> blanks;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] == mask) blanks.push_back(static_cast<Index>(i));
  if (blanks.empty()) fail_usage("--fill: missing [MASK] in the text");
  Dense x{{1, std::ssize(ids)}, Values::uninitialized(DType::I64, std::ssize(ids))};
  std::ranges::copy(ids, x.values.mutate<std::int64_t>().begin());
  return {std::move(x), std::move(blanks)};
}

struct Guess {
  TokenId id;
  double probability;
};

// The two likeliest characters or subwords, with their probabilities among all ids.
std::vector<Guess> guesses(const float* logits, Index classes, const Tokenizer& tokenizer) {
  const float most = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (Index c = 0; c < classes; ++c) sum += std::exp(double{logits[c]} - most);
  std::vector<Guess> all;
  for (const TokenId id : tokenizer.ordinary())
    if (id < classes) all.push_back({id, std::exp(double{logits[id]} - most) / sum});
  const auto last = all.begin() + std::min<std::ptrdiff_t>(2, std::ssize(all));
  std::partial_sort(all.begin(), last, all.end(),
                    [](const Guess& a, const Guess& b) { return a.probability > b.probability; });
  all.erase(last, all.end());
  return all;
}

// The text of a token after others: without the prefix of a continuation, as of ##ing, and without a
// blank before a word.
std::string text_within(const Tokenizer& tokenizer, TokenId id) {
  const TokenId twice[] = {id, id};
  const std::string alone = tokenizer.decode(std::span(twice).first(1));
  const std::string both = tokenizer.decode(twice);
  if (!both.starts_with(alone) || both.size() >= 2 * alone.size()) return alone;
  return both.substr(alone.size());
}

NamedValues<Tensor> inputs_for(const RunnableModel& m, const Dense& ids) {
  GivenInputs in;
  const auto at = std::ranges::find(m.inputs, "input_ids", &ModelInput::name);
  if (at == m.inputs.end()) fail_usage("--fill: missing input input_ids of {}", m.name);
  in.values.emplace(at->name, exactly_as(at->dtype.value_or(DType::I64), ids, "--fill"));
  fill_text_inputs(m, in);
  return std::move(in.values);
}

}  // namespace

Outcome fill_text(const ModelOptions& o, const std::string& masked) {
  const Device device = use_device(o.device);
  ModelSource source = find_model(o.path);
  describe_by(o.config, source);
  if (is_decoder(source.what.model))
    fail_usage("--fill: expected a masked language model, got the decoder {} (use --generate)",
               source.name);
  if (const ModelRecipe& m = source.what.model;
      m.kind == "bert" && BertConfig::read(m.config).head != BertHead::words)
    fail_usage("--fill: expected a BertForMaskedLM, got {}", printable(m.config));
  if (source.what.vocabulary.empty())
    fail_usage("--fill: tokenizer not found beside {}", source.name);
  const auto tokenizer = read_tokenizer(source.what.vocabulary);
  const MaskedTextIds text = masked_ids(masked, *tokenizer);
  RunnableModel model = fused(read_model(source, false));
  const Index tokens = text.ids.size();
  if (model.positions && tokens > *model.positions)
    fail_usage("--fill: {} tokens exceed the {} positions of {}", tokens, *model.positions,
               model.name);
  const NamedValues<Tensor> inputs = inputs_for(model, text.ids);
  ModelExecution execution(o, device, model, inputs);
  const Tensor y = execution.run(inputs).at(model.graph.outputs().front());
  execution.check_speed(inputs, false);
  const Dense logits = y.to_dense().to(Device::cpu);
  if (logits.dtype() != DType::F32 || logits.extents.size() != 3 || logits.extents[1] != tokens)
    fail("{}: output {} has shape {}: expected the logits of {} tokens", model.name,
         quote(model.graph.outputs().front()), to_string(logits.extents), tokens);
  const Index classes = logits.extents[2];

  Outcome outcome;
  Report& r = outcome.report;
  r.program = "sten-run";
  r.item = "blanks";
  r.columns = {{"place", "place", Unit::count},
               {"character", "character", Unit::text},
               {"probability", "probability", Unit::fraction},
               {"second", "second", Unit::text},
               {"second_probability", "probability", Unit::fraction}};
  std::string filled = masked;
  for (const Index place : text.blanks) {
    const auto best =
        guesses(logits.values.as<float>().data() + place * classes, classes, *tokenizer);
    if (best.empty()) fail("{}: ids do not match the logits of {}", tokenizer->name(), model.name);
    auto& row = r.rows.emplace_back();
    r.at(row, "place") = place;
    r.at(row, "character") = std::string(tokenizer->entry(best[0].id));
    r.at(row, "probability") = best[0].probability;
    if (best.size() > 1) {
      r.at(row, "second") = std::string(tokenizer->entry(best[1].id));
      r.at(row, "second_probability") = best[1].probability;
    }
    const std::string filling = text_within(*tokenizer, best[0].id);
    filled.replace(filled.find(blank), blank.size(), filling);
  }
  r.facts = {{"model", source.name}, {"text", filled}};
  r.notes = {printable(filled)};
  execution.add_to(r);
  return outcome;
}

}  // namespace sten
