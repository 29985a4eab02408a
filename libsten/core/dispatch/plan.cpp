// SPDX-License-Identifier: Apache-2.0
// Plans: the choice of an implementation, or of the dense fallback.
#include <fmt/ranges.h>

#include <algorithm>

#include "libsten/core/dispatch/names.h"
#include "libsten/core/dispatch/operators.h"
#include "libsten/core/registry/route.h"

namespace sten {
namespace {

using names::any_layout, names::dense;

// The signature with dense outputs, and which of them are sparsified afterwards.
std::pair<Signature, std::vector<bool>> with_dense_outputs(const Signature& wanted) {
  Signature s = wanted;
  std::vector<bool> after(s.out.size());
  for (std::size_t i = 0; i < s.out.size(); ++i) {
    after[i] = !s.out[i].is_dense() && !s.out[i].is_none();
    if (after[i]) s.out[i] = {};
  }
  return {std::move(s), std::move(after)};
}
constexpr const char* sparsified = ", and its dense result is sparsified after that";

}  // namespace

const Operators::Entry* Operators::best(const Signature& wanted) const {
  const auto at = entries_.find(wanted.op);
  if (at == entries_.end()) return nullptr;
  const Entry* found = nullptr;
  for (const Entry& e : at->second)
    if (e.pattern.device == wanted.device && inputs_match(e.pattern, wanted) &&
        outputs_match(e.pattern, wanted) && (!found || e.wildcards <= found->wildcards) &&
        (!e.when || e.when(wanted)))
      found = &e;
  return found;
}

// No value if the conversion may fail.
std::optional<double> Operators::conversion_cost(Name from, Name to) const {
  if (from == dense) return std::nullopt;
  if (to == dense) return dense_cost;
  const std::string target(to.text());
  if (!layouts_.holds_any_pattern(target) || layouts_.needs_parameters(target)) return std::nullopt;
  return find_route(layouts_, Spec(std::string(from.text())), Spec(target)).cost();
}

std::optional<Plan> Operators::convert_plan(const Signature& wanted) const {
  const auto at = entries_.find(wanted.op);
  if (at == entries_.end()) return std::nullopt;
  std::optional<Plan> cheapest;
  Signature chosen;
  for (const Entry& e : at->second) {
    if (e.pattern.device != wanted.device || !outputs_match(e.pattern, wanted)) continue;
    Signature s = wanted;
    double cost = 0;
    bool possible = true, is_sparse = false;
    for (std::size_t i = 0; i < s.in.size() && possible; ++i) {
      const Name p = pattern_input(e.pattern, i);
      if (p != any_layout && p != s.in[i]) {
        const auto more = conversion_cost(s.in[i], p);
        possible = more.has_value();
        cost += more.value_or(0);
        s.in[i] = p;
      }
      is_sparse |= s.in[i] != dense;
    }
    if (!possible || !is_sparse || !inputs_match(e.pattern, s) || (e.when && !e.when(s))) continue;
    if (cheapest && cheapest->cost <= cost) continue;
    cheapest =
        Plan{{DispatchKind::converted}, s.in, std::vector<bool>(s.out.size()), cost, "", e.run};
    chosen = std::move(s);
  }
  if (cheapest) {
    std::vector<std::string> moves;
    for (std::size_t i = 0; i < chosen.in.size(); ++i)
      if (chosen.in[i] != wanted.in[i])
        moves.push_back(fmt::format("{} to {}", wanted.in[i].text(), chosen.in[i].text()));
    cheapest->text = fmt::format("converts {} (cost {}) for {}", fmt::join(moves, ", "),
                                 cheapest->cost, chosen.str());
  }
  return cheapest;
}

Plan Operators::make_plan(const Signature& wanted) const {
  const std::vector<bool> none(wanted.out.size());
  if (const Entry* e = best(wanted))
    return {{DispatchKind::exact}, wanted.in, none, 0, wanted.str() + ": exact", e->run};
  if (wanted.device != Device::cpu) {
    const auto [s, after] = with_dense_outputs(wanted);
    if (const Entry* e = best(s))
      return {{DispatchKind::dense},
              s.in,
              after,
              0,
              wanted.str() + ": no implementation; takes " + s.str() + sparsified,
              e->run};
    return cpu_plan(wanted, "no implementation");
  }
  const std::string missing = wanted.str() + ": no implementation for these layouts; ";
  if (auto plan = convert_plan(wanted)) {
    plan->text = missing + plan->text;
    return *std::move(plan);
  }
  // Dense results instead of the requested formats.
  const auto [s, after] = with_dense_outputs(wanted);
  if (s != wanted) {
    if (const Entry* e = best(s))
      return {
          {DispatchKind::dense}, s.in, after, 0, missing + "takes " + s.str() + sparsified, e->run};
    if (auto plan = convert_plan(s)) {
      plan->kind = DispatchKind::dense;
      plan->after = after;
      plan->text = missing + plan->text + sparsified;
      return *std::move(plan);
    }
  }
  return dense_plan(wanted, "no implementation for these layouts");
}

Plan Operators::cpu_plan(const Signature& wanted, const std::string& why) const {
  Signature cpu_signature = wanted;
  cpu_signature.device = Device::cpu;
  Plan plan = make_plan(cpu_signature);
  plan.text = fmt::format("{}: {}; on the CPU, {}", wanted.str(), why, plan.text);
  plan.moves = true;
  return plan;
}

Plan Operators::dense_plan(const Signature& wanted, const std::string& why) const {
  auto [s, after] = with_dense_outputs(wanted);
  const std::string then = s == wanted ? "" : sparsified;
  std::replace_if(
      s.in.begin(), s.in.end(), [](Name n) { return n != dense; }, dense);
  if (const Entry* e = best(s))
    return {{DispatchKind::dense},
            s.in,
            after,
            0,
            fmt::format("{}: {}; dense with masks, {}{}", wanted.str(), why, s.str(), then),
            e->run};
  if (!entries_.contains(wanted.op)) {
    constexpr std::string_view gradient = ".grad";
    const std::string op(wanted.op.text());
    if (op.ends_with(gradient))
      if (const std::string forward = op.substr(0, op.size() - gradient.size());
          entries_.contains(Name(forward)))
        fail_usage("{}: missing gradient of an operator between a parameter and the loss", forward);
    std::vector<std::string> known;
    for (const auto& [op, entries] : entries_) known.emplace_back(op.text());
    fail_usage("unknown operator {}{}", quote(wanted.op.text()),
               suggestion(wanted.op.text(), known));
  }
  if (wanted.in.empty()) fail_usage("{}: expected inputs, got none", wanted.op.text());
  fail_usage("{}: no implementation found, including dense tensors", wanted.str());
}

}  // namespace sten
