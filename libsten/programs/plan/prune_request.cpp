#include "libsten/programs/plan/prune_request.h"

#include <algorithm>

#include "libsten/core/base/log.h"
#include "libsten/core/registry/registry.h"
#include "libsten/programs/plan/reorder.h"

namespace sten {
PruneRequest::PruneRequest(const PruneOptions& o) : options_(o) {
  if (o.at && o.method != PruneMethod::threshold) fail_usage("--at belongs to --method threshold");
  check_fraction("--sparsity", o.sparsity);
  check_fraction("--min-energy", o.min_energy);
  for (const std::string& text : o.rules)
    for (Rule& r : split_rule(parse_rule(text, "--rule"))) rules_.push_back(std::move(r));
  if (!o.rules_file.empty())
    for (Rule& r : read_rules(o.rules_file)) rules_.push_back(std::move(r));

  // With masks, --to can only be a layout.
  const Spec structure = o.mask.empty() ? structure_of(o) : o.structure;
  const bool says_how = o.sparsity || o.at || o.method != PruneMethod::magnitude ||
                        !structure.is("unstructured") ||
                        o.scope.value_or(PruneScope::local) != PruneScope::local;
  if (!o.mask.empty()) {
    if (says_how || !rules_.empty() || !o.scores.empty() || is_calibrated(o))
      fail_usage("--mask excludes --sparsity, --structure, --method, --scope and rules");
    mask_to_ = resolve_to(o.to, Spec("same-pattern"));
    values_ = {{"mask", "file"}, {"to", mask_to_.str()}};
  } else {
    if (says_how || rules_.empty()) default_ = default_plan(o, structure);
    for (const Rule& r : rules_) plans_.push_back(plan_of_rule(r, o));
    if (default_) {
      values_ = {{"sparsifier", default_->sparsifier.str()}, {"to", default_->to.str()}};
      if (default_->global) values_.emplace_back("scope", "global");
    } else {
      values_ = {{"to", o.to}};
    }
    for (const Rule& r : rules_) values_.emplace_back("rule", r.pattern + "=" + r.spec.str());
  }
  check_scores();
  check_calibration();
  const bool random =
      (default_ && default_->has_seed) ||
      std::any_of(plans_.begin(), plans_.end(),
                  [](const std::optional<TensorPlan>& t) { return t && t->has_seed; });
  if (!o.reorder.empty() && !o.mask.empty()) fail_usage("--reorder and --mask exclude each other");
  if (!o.reorder.empty() && o.nan == Nan::keep)
    fail_usage("--nan keep and --reorder exclude each other");
  for (const std::string& r : o.reorder) {
    (void)ReorderRule::parse(r);
    values_.emplace_back("reorder", r);
  }
  if (random) values_.emplace_back("seed", std::to_string(o.seed));
  if (o.nan != Nan::error) values_.emplace_back("nan", name_of(o.nan));
  for (const std::string& p : o.patterns.include) values_.emplace_back("include", p);
  for (const std::string& p : o.patterns.exclude) values_.emplace_back("exclude", p);
}

void PruneRequest::check_scores() {
  bool needed = default_ && default_->needs_scores;
  if (needed && options_.scores.empty())
    fail_usage("--method {} needs --scores FILE, with scores by tensor name",
               name_of(options_.method));
  for (std::size_t r = 0; r < plans_.size(); ++r) {
    if (!plans_[r] || !plans_[r]->needs_scores) continue;
    needed = true;
    if (options_.scores.empty())
      fail_usage("{} {}: {} needs --scores FILE", rules_[r].where, quote(rules_[r].pattern),
                 rules_[r].spec.name());
  }
  if (options_.scores.empty()) return;
  if (!needed) fail_usage("--scores belongs to --method or rules of movement, gradient and l0");
  if (options_.scores == "-" && options_.input == "-")
    fail_usage("standard input cannot be both the checkpoint and its scores");
  if (default_ && default_->by_gradient) values_.emplace_back("method", "gradient");
  values_.emplace_back("scores", "file");
}

void PruneRequest::check_calibration() {
  const PruneOptions& o = options_;
  const CalibrationOptions& c = o.calibration;
  if (!is_calibrated(o)) {
    if (c.is_given())
      fail_usage("{} belongs to --method wanda, ria, sparsegpt and admm, and to --reconstruct",
                 c.statistics.empty() ? "--calibrate" : "--statistics");
    if (c.samples) fail_usage("--calibrate-samples belongs to --calibrate");
    if (c.allocate)
      fail_usage(
          "--allocate belongs to --method wanda, ria, sparsegpt and admm, and to --reconstruct");
    if (c.damping)
      fail_usage("--damping belongs to --method sparsegpt and admm, and to --reconstruct");
    return;
  }
  if (c.damping && !o.reconstruct &&
      (o.method == PruneMethod::wanda || o.method == PruneMethod::ria))
    fail_usage("--damping belongs to --method sparsegpt and admm, and to --reconstruct");
  const std::string what =
      o.method == PruneMethod::magnitude ? "--reconstruct" : "--method " + name_of(o.method);
  if (o.method == PruneMethod::random || o.method == PruneMethod::threshold || !o.scores.empty())
    fail_usage("--reconstruct goes with --method magnitude, wanda, ria, sparsegpt and admm");
  if (!c.is_given()) fail_usage("{} needs --calibrate DATA or --statistics FILE", what);
  if (!c.statistics.empty() && !c.data.empty())
    fail_usage("--calibrate and --statistics exclude each other");
  if (c.samples && c.data.empty()) fail_usage("--calibrate-samples belongs to --calibrate");
  if (c.rows() < 1) fail_usage("--calibrate-samples must be >= 1, got {}", c.rows());
  if (c.damping && !(*c.damping > 0 && *c.damping <= 1))
    fail_usage("--damping must be in (0, 1], got {}", *c.damping);
  if (c.allocate) {
    if (c.allocate == AllocationMethod::sensitivity && c.data.empty())
      fail_usage("--allocate sensitivity needs --calibrate");
    if (!o.sparsity || !default_ || !default_->sparsifier.is("magnitude") || !rules_.empty())
      fail_usage("--allocate needs --sparsity of unstructured pruning, without rules");
  }
  if (o.nan == Nan::keep) fail_usage("--nan keep and {} exclude each other", what);
  values_.emplace_back("method", name_of(o.method));
  if (o.reconstruct) values_.emplace_back("reconstruct", "yes");
  if (default_ && default_->by_row) values_.emplace_back("scope", "row");
  if (c.allocate) values_.emplace_back("allocate", name_of(*c.allocate));
  if (c.damping) values_.emplace_back("damping", fmt::format("{}", *c.damping));
  if (c.statistics.empty())
    values_.emplace_back("calibrated_on", fmt::format("{} rows", c.rows()));
  else
    values_.emplace_back("statistics", "file");
}

std::string PruneRequest::text() const {
  if (!options_.mask.empty()) return "mask";
  return default_ ? default_->sparsifier.str() : "rules";
}

std::string PruneRequest::scope() const {
  if (!default_) return "local";
  return default_->global ? "global" : default_->by_row ? "row" : "local";
}

std::string PruneRequest::to() const {
  if (!options_.mask.empty()) return mask_to_.str();
  return default_ ? default_->to.str() : options_.to;
}

PruneRequest::TensorPlans PruneRequest::plans(const Checkpoint& in, const Checkpoint* masks) const {
  TensorPlans out;
  out.tensors.resize(in.tensors().size());
  if (masks) {
    plan_by_masks(in, *masks, out);
  } else if (default_) {
    Selection s = select_tensors(in, options_.patterns, Purpose::prune);
    out.skipped = s.skipped;
    out.why = std::move(s.why);
    for (std::size_t i = 0; i < s.chosen.size(); ++i) {
      // Files can have statistics of a convolution's columns; calibration by a model's run does not
      // compute them.
      const bool is_convolution = in.tensors()[i].shape.size() > 2;
      if (s.chosen[i] && is_convolution && !out.why.empty() && !options_.calibration.data.empty())
        out.why[i] = SkipReason::convolution;
      else if (s.chosen[i])
        out.tensors[i] = default_;
    }
  } else if (!options_.patterns.include.empty()) {
    fail_usage("--include with rules needs --sparsity or --structure");
  }
  if (!rules_.empty()) plan_by_rules(in, out);
  out.chosen = std::count_if(out.tensors.begin(), out.tensors.end(),
                             [](const auto& t) { return t.has_value(); });
  const auto is_mask = [](const CheckpointTensor& t) { return t.dtype == DType::BOOL; };
  if (out.chosen == 0 && !in.tensors().empty() && std::ranges::all_of(in.tensors(), is_mask))
    fail_usage("{}: expected weights, got masks of BOOL (--mask takes masks)", in.name());
  const auto convolutions = std::ranges::count(out.why, SkipReason::convolution);
  if (out.chosen == 0 && convolutions > 0)
    fail_usage("{}: expected linear layers to calibrate, got {} convolution{}", in.name(),
               convolutions, convolutions == 1 ? "" : "s");
  if (out.chosen == 0 && !masks)
    fail_usage("{}: none of the {} tensors is chosen: {}", in.name(), in.tensors().size(),
               options_.patterns.exclude.empty() && rules_.empty()
                   ? "none is a weight by its name (choose with --include)"
                   : "patterns and rules exclude all");
  return out;
}

void PruneRequest::plan_by_rules(const Checkpoint& in, TensorPlans& out) const {
  std::vector<bool> decided(out.tensors.size());
  const TensorNames names(in);
  for (const std::string& p : names.listed(options_.patterns.exclude))
    names.for_each_match(p, "--exclude", [&](std::size_t i) {
      decided[i] = true;
      out.tensors[i].reset();
    });
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    const Rule& rule = rules_[r];
    const bool literal = NamePattern(rule.pattern).is_literal();
    bool wins = false;
    names.for_each_match(rule.pattern, rule.where, [&](std::size_t i) {
      if (decided[i]) return;
      const std::string why = plans_[r] ? unfit(in.tensors()[i], Purpose::prune) : "";
      if (!why.empty()) {
        if (literal) fail_usage("{} {}: {}", rule.where, quote(rule.pattern), why);
        ++out.skipped;
        return;
      }
      wins = decided[i] = true;
      out.tensors[i] = plans_[r];
      if (!out.why.empty()) out.why[i] = plans_[r] ? SkipReason::no : SkipReason::keep;
    });
    if (!wins)
      warn(
          "{} {} has no effect: matching tensors are excluded, have an earlier rule, or cannot be "
          "pruned",
          rule.where, quote(rule.pattern));
  }
}

// Plans for the tensors that have a mask and that patterns do not exclude.
void PruneRequest::plan_by_masks(const Checkpoint& in, const Checkpoint& masks,
                                 TensorPlans& out) const {
  const std::vector<bool> included = TensorNames(in).chosen(options_.patterns);
  for (const CheckpointTensor& m : masks.tensors()) {
    const CheckpointTensor* t = in.find(m.name);
    if (!t) {
      std::vector<std::string> all;
      for (const CheckpointTensor& other : in.tensors()) all.push_back(other.name);
      fail("{}: mask {}: tensor not found in {}{}", masks.name(), quote(m.name), in.name(),
           suggestion(m.name, all));
    }
    const auto i = static_cast<std::size_t>(t - in.tensors().data());
    if (!included[i]) continue;
    if (!is_prunable(in.tensors()[i].dtype))
      fail("{}: {}: {} elements cannot be pruned", in.name(), quote(m.name),
           name_of(in.tensors()[i].dtype));
    out.tensors[i] = TensorPlan{Spec(), mask_to_, false};
  }
}

}  // namespace sten
