// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/model_layouts.h"

#include <algorithm>
#include <map>

#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/text.h"
#include "libsten/core/registry/route.h"
#include "libsten/programs/rewrite/rules.h"
#include "libsten/programs/rewrite/selection.h"
#include "libsten/programs/run/layout_cache.h"

namespace sten {
namespace {

std::string counted(const NamedValues<Tensor>& weights) {
  std::map<std::string, Index> counts;
  for (const auto& [name, w] : weights)
    if (w.shape().size() >= 2) ++counts[w.spec().str()];
  std::string text;
  for (const auto& [layout, n] : counts)
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", n, layout);
  return text;
}

void choose_fastest(const std::vector<std::string>& names, const NamedValues<Tensor>& inputs,
                    const std::vector<PrecisionRule>& precision, RunnableModel& m,
                    SetLayouts& result) {
  NamedValues<Tensor> values = m.weights;
  values.insert(inputs.begin(), inputs.end());
  LayoutCache cache;
  FastestLayouts fastest = in_fastest_layouts(m.graph, values, names, cache.times, precision);
  for (auto& [name, w] : fastest.weights) m.weights.insert_or_assign(name, std::move(w));
  const auto measured_now = std::ranges::count_if(fastest.choices, &LayoutChoice::measured);
  const auto all = std::ssize(fastest.choices);
  if (measured_now > 0) cache.write();
  if (all == 0)
    result.notes.emplace_back("auto: no weight is sparse, all layouts stay");
  else if (measured_now < all)
    result.notes.push_back(
        fmt::format("auto: {} of {} weights were measured, times of the others are from {}",
                    measured_now, all, printable(cache.path())));
  else
    result.notes.push_back(fmt::format("auto: {} weights were measured", all));
  result.notes.insert(result.notes.end(), cache.notes.begin(), cache.notes.end());
  result.measured = std::move(fastest.choices);
}

}  // namespace

SetLayouts set_layouts(const std::vector<std::string>& rules, const NamedValues<Tensor>& inputs,
                       const std::vector<PrecisionRule>& precision, RunnableModel& m) {
  std::vector<std::string> names;
  for (const auto& [name, w] : m.weights) names.push_back(name);
  const TensorNames known(names, m.name);
  std::vector<bool> is_set(names.size());
  bool is_auto = false;
  for (const std::string& text : rules) {
    if (text == "auto") {
      is_auto = true;
      continue;
    }
    for (const Rule& rule : split_rule(parse_rule(text, "--layouts")))
      known.for_each_match(rule.pattern, "--layouts", [&](std::size_t i) {
        Tensor& w = m.weights.at(names[i]);
        // Norms and biases that a glob also matches.
        if (is_set[i] || (w.shape().size() < 2 && names[i] != rule.pattern)) return;
        is_set[i] = true;
        try {
          w = convert(w, rule.spec);
        } catch (const Error& e) {
          fail_usage("--layouts: {}: {}", quote(names[i]), e.what());
        }
      });
  }
  SetLayouts result;
  if (is_auto) {
    std::vector<std::string> others;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!is_set[i]) others.push_back(names[i]);
    choose_fastest(others, inputs, precision, m, result);
  }
  result.notes.insert(result.notes.begin(), "weights: " + counted(m.weights));
  return result;
}

std::string candidates_of(const LayoutChoice& choice) {
  std::string text;
  for (const auto& [layout, seconds] : choice.seconds)
    text += fmt::format("{}{} {:.3g} ms", text.empty() ? "" : ", ", layout, 1e3 * seconds);
  return text + (choice.measured ? "; measured" : "; from the cache");
}

void check_layouts(const RunnableModel& m, const NamedValues<Tensor>& inputs,
                   const std::vector<PrecisionRule>& precision, const ExecutionPlan& plan,
                   bool measures, SetLayouts& result) {
  result.ignored = ignored_zeros(m.graph, m.weights, &result.sparse);
  std::vector<std::string> names;
  for (const auto& [name, w] : m.weights)
    if (w.layout() != Dense::name) names.push_back(name);
  if (names.empty()) return;
  LayoutCache cache;
  if (!measures && cache.times.empty()) return;
  NamedValues<Tensor> values = m.weights;
  values.insert(inputs.begin(), inputs.end());
  std::vector<LayoutChoice> choices;
  if (measures) {
    choices = in_fastest_layouts(m.graph, values, names, cache.times, precision).choices;
    if (std::ranges::count_if(choices, &LayoutChoice::measured) > 0) cache.write();
    result.notes.insert(result.notes.end(), cache.notes.begin(), cache.notes.end());
  } else {
    choices = known_choices(m.graph, values, names, cache.times, plan, precision);
  }
  for (const LayoutChoice& c : choices) {
    const std::string layout = m.weights.at(c.weight).spec().str();
    if (const auto times = slowdown(c, layout))
      result.slower.push_back({c.weight, layout, *times, c.measured});
  }
}

std::string describe(const std::vector<SlowerLayout>& slower) {
  const SlowerLayout& most = *std::ranges::max_element(slower, {}, &SlowerLayout::times);
  const std::string all =
      slower.size() == 1
          ? fmt::format("1 weight is slower in its layout than dense on this machine")
          : fmt::format("{} weights are slower in their layouts than dense on this machine",
                        slower.size());
  return fmt::format("{}: {} in {} takes {:.2f} times as long", all, quote(most.weight),
                     most.layout, most.times);
}

void add_layouts(const SetLayouts& layouts, Report& r) {
  const bool is_auto = !layouts.measured.empty();
  const char* const remedy =
      is_auto ? "" : "; --layouts auto takes the fastest layout of each weight";
  const auto source = [](const auto& x) { return std::string(x.measured ? "measured" : "cache"); };
  r.notes.insert(r.notes.end(), layouts.notes.begin(), layouts.notes.end());
  for (const LayoutChoice& c : layouts.measured) {
    const std::string at = "layouts" + pointer_step(c.weight);
    r.facts.emplace_back(at + "/layout", c.layout);
    r.facts.emplace_back(at + "/times", source(c));
    for (const auto& [layout, seconds] : c.seconds)
      r.facts.emplace_back(at + "/seconds" + pointer_step(layout), seconds);
  }
  for (const IgnoredZeros& i : layouts.ignored)
    r.facts.emplace_back("ignored_zeros" + pointer_step(i.weight), i.op);
  if (!layouts.ignored.empty())
    r.notes.push_back(describe(layouts.ignored, layouts.sparse) + remedy);
  for (const SlowerLayout& s : layouts.slower) {
    const std::string at = "slower_than_dense" + pointer_step(s.weight);
    r.facts.emplace_back(at + "/layout", s.layout);
    r.facts.emplace_back(at + "/times", source(s));
    r.facts.emplace_back(at + "/slowdown", s.times);
  }
  if (!layouts.slower.empty()) r.notes.push_back(describe(layouts.slower) + remedy);
}

}  // namespace sten
