// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/plan/prune_request.h"

#include <algorithm>

namespace sten {
PruneRequest::PruneRequest(const PruneOptions& options) : options_(options) {
  const PruneOptions& o = options_;
  if (o.tensors.at && o.tensors.method != PruneMethod::threshold)
    fail_usage("--at belongs to --method threshold");
  check_fraction("--sparsity", o.tensors.sparsity);
  check_fraction("--min-energy", o.min_energy);
  plan();
  check_scores();
  check_calibration();
  if (!o.reorder.empty() && !o.files.mask.empty())
    fail_usage("--reorder and --mask exclude each other");
  if (!o.reorder.empty() && o.tensors.nan == Nan::keep)
    fail_usage("--nan keep and --reorder exclude each other");
  add_values();
}

PruneRequest PruneRequest::on(const std::string& input, const OutputOptions& output) const {
  PruneRequest other = *this;
  other.options_.input = input;
  other.options_.output = output;
  other.options_.show_progress = false;
  return other;
}

void PruneRequest::plan() {
  const PruneOptions& o = options_;
  const TensorOptions& t = o.tensors;
  std::vector<Rule> rules;
  for (const std::string& text : o.rules)
    for (Rule& r : split_rule(parse_rule(text, "--rule"))) rules.push_back(std::move(r));
  if (!o.files.rules.empty())
    for (Rule& r : read_rules(o.files.rules)) rules.push_back(std::move(r));

  // With masks, --to can only be a layout.
  const Spec structure = o.files.mask.empty() ? structure_of(t) : t.structure;
  const bool says_how = t.sparsity || t.at || t.method != PruneMethod::magnitude ||
                        !structure.is("unstructured") ||
                        t.scope.value_or(PruneScope::local) != PruneScope::local;
  if (!o.files.mask.empty()) {
    if (says_how || !rules.empty() || !o.files.scores.empty() || t.is_calibrated())
      fail_usage("--mask excludes --sparsity, --structure, --method, --scope and rules");
    default_ = TensorPlan{Spec(), resolve_to(t.to, Spec("same-pattern"))};
    values_ = {{"mask", "file"}, {"to", to().str()}};
    return;
  }
  if (says_how || rules.empty()) default_ = sten::default_plan(t, structure);
  for (Rule& r : rules) {
    std::optional<TensorPlan> plan = plan_of_rule(r, t);
    rules_.emplace_back(std::move(r), std::move(plan));
  }
  if (default_) values_.emplace_back("sparsifier", default_->sparsifier.str());
  values_.emplace_back("to", to().str());
  if (default_ && default_->global) values_.emplace_back("scope", "global");
  for (const auto& [rule, plan] : rules_)
    values_.emplace_back("rule", rule.pattern + "=" + rule.spec.str());
}

void PruneRequest::add_values() {
  const PruneOptions& o = options_;
  if (o.output.type) values_.emplace_back("type", std::string(o.output.type->name));
  for (const std::string& r : o.reorder) {
    reorder_.push_back(ReorderRule::parse(r));
    values_.emplace_back("reorder", r);
  }
  if ((default_ && default_->has_seed) ||
      std::ranges::any_of(rules_, [](const auto& r) { return r.second && r.second->has_seed; }))
    values_.emplace_back("seed", std::to_string(o.tensors.seed));
  if (o.tensors.nan != Nan::error) values_.emplace_back("nan", name_of(o.tensors.nan));
  for (const std::string& p : o.patterns.include) values_.emplace_back("include", p);
  for (const std::string& p : o.patterns.exclude) values_.emplace_back("exclude", p);
}

void PruneRequest::check_scores() {
  bool needed = default_ && default_->needs_scores;
  if (needed && options_.files.scores.empty())
    fail_usage("--method {} needs --scores FILE, with scores by tensor name",
               name_of(options_.tensors.method));
  for (const auto& [rule, plan] : rules_) {
    if (!plan || !plan->needs_scores) continue;
    needed = true;
    if (options_.files.scores.empty())
      fail_usage("{} {}: {} needs --scores FILE", rule.where, quote(rule.pattern),
                 rule.spec.name());
  }
  if (options_.files.scores.empty()) return;
  if (!needed) fail_usage("--scores belongs to --method or rules of movement, gradient and l0");
  if (options_.files.scores == "-" && options_.input == "-")
    fail_usage("standard input cannot be both the checkpoint and its scores");
  if (default_ && default_->by_gradient) values_.emplace_back("method", "gradient");
  values_.emplace_back("scores", "file");
}

namespace {

// Flags that belong to --calibrate, and whether they are given.
std::vector<std::pair<const char*, bool>> flags_of_data(const CalibrationOptions& c) {
  return {{"--calibrate-samples", c.samples.has_value()},
          {"--calibrate-window", c.window.has_value()},
          {"--calibration-cache", !c.cache.empty()}};
}

}  // namespace

void PruneRequest::check_calibration() {
  const PruneOptions& o = options_;
  const CalibrationOptions& c = o.calibration;
  if (!o.tensors.is_calibrated()) {
    if (c.is_given())
      fail_usage("{} belongs to --method wanda, ria, sparsegpt and admm, and to --reconstruct",
                 c.statistics.empty() ? "--calibrate" : "--statistics");
    for (const auto& [flag, is_given] : flags_of_data(c))
      if (is_given) fail_usage("{} belongs to --calibrate", flag);
    if (c.allocate)
      fail_usage(
          "--allocate belongs to --method wanda, ria, sparsegpt and admm, and to --reconstruct");
    if (c.damping)
      fail_usage("--damping belongs to --method sparsegpt and admm, and to --reconstruct");
    return;
  }
  if (c.damping && !o.tensors.reconstruct &&
      (o.tensors.method == PruneMethod::wanda || o.tensors.method == PruneMethod::ria))
    fail_usage("--damping belongs to --method sparsegpt and admm, and to --reconstruct");
  const std::string what = o.tensors.method == PruneMethod::magnitude
                               ? "--reconstruct"
                               : "--method " + name_of(o.tensors.method);
  if (o.tensors.method == PruneMethod::random || o.tensors.method == PruneMethod::threshold ||
      !o.files.scores.empty())
    fail_usage("--reconstruct goes with --method magnitude, wanda, ria, sparsegpt and admm");
  if (!c.is_given()) fail_usage("{} needs --calibrate DATA or --statistics FILE", what);
  if (!c.statistics.empty() && !c.data.empty())
    fail_usage("--calibrate and --statistics exclude each other");
  for (const auto& [flag, is_given] : flags_of_data(c))
    if (is_given && c.data.empty()) fail_usage("{} belongs to --calibrate", flag);
  check_sizes(c);
  if (c.damping && !(*c.damping > 0 && *c.damping <= 1))
    fail_usage("--damping must be in (0, 1], got {}", *c.damping);
  if (c.allocate) {
    if (c.allocate == AllocationMethod::sensitivity && c.data.empty())
      fail_usage("--allocate sensitivity needs --calibrate");
    if (!o.tensors.sparsity || !default_ || !default_->sparsifier.is("magnitude") ||
        !rules_.empty())
      fail_usage("--allocate needs --sparsity of unstructured pruning, without rules");
  }
  if (o.tensors.nan == Nan::keep) fail_usage("--nan keep and {} exclude each other", what);
  values_.emplace_back("method", name_of(o.tensors.method));
  if (o.tensors.reconstruct) values_.emplace_back("reconstruct", "yes");
  if (default_ && default_->by_row) values_.emplace_back("scope", "row");
  if (c.allocate) values_.emplace_back("allocate", name_of(*c.allocate));
  if (c.damping) values_.emplace_back("damping", fmt::format("{}", *c.damping));
  if (c.statistics.empty())
    values_.emplace_back("calibrated_on", fmt::format("{} rows", c.rows()));
  else
    values_.emplace_back("statistics", "file");
}

std::string PruneRequest::text() const {
  if (!options_.files.mask.empty()) return "mask";
  return default_ ? default_->sparsifier.str() : "rules";
}

PruneScope PruneRequest::scope() const {
  if (!default_) return PruneScope::local;
  return default_->global   ? PruneScope::global
         : default_->by_row ? PruneScope::row
                            : PruneScope::local;
}

}  // namespace sten
