// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/plan/prune_plan.h"

#include <algorithm>
#include <map>

#include "libsten/core/base/log.h"
#include "libsten/core/registry/structure.h"
#include "libsten/programs/rewrite/axis.h"
#include "libsten/programs/rewrite/tied.h"

namespace sten {
namespace {

// `skipped`: the tensors that --include matches, but that cannot be pruned.
void plan_by_rules(const PruneRequest& request, const Checkpoint& in, std::vector<bool> skipped,
                   PrunePlan& out) {
  std::vector<bool> decided(out.tensors.size());
  const TensorNames names(in);
  for (const std::string& p : names.listed(request.options().patterns.exclude))
    names.for_each_match(p, "--exclude", [&](std::size_t i) {
      decided[i] = true;
      out.tensors[i].reset();
    });
  for (const auto& each : request.rules()) {
    const Rule& rule = each.first;
    const std::optional<TensorPlan>& plan = each.second;
    const bool literal = NamePattern(rule.pattern).is_literal();
    bool wins = false;
    names.for_each_match(rule.pattern, rule.where, [&](std::size_t i) {
      if (decided[i]) return;
      const std::string why = plan ? unfit(in.tensors()[i], Purpose::prune) : "";
      if (!why.empty()) {
        if (literal) fail_usage("{} {}: {}", rule.where, quote(rule.pattern), why);
        skipped[i] = true;
        return;
      }
      wins = decided[i] = true;
      out.tensors[i] = plan;
      if (!out.why.empty()) out.why[i] = plan ? SkipReason::no : SkipReason::keep;
    });
    if (!wins)
      warn(
          "{} {} has no effect: matching tensors are excluded, have an earlier rule, or cannot be "
          "pruned",
          rule.where, quote(rule.pattern));
  }
  out.skipped = std::ranges::count(skipped, true);
}

// Plans for the tensors that have a mask and that patterns do not exclude.
void plan_by_masks(const PruneRequest& request, const Checkpoint& in, const Checkpoint& masks,
                   PrunePlan& out) {
  const std::vector<bool> included = TensorNames(in).chosen(request.options().patterns);
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
    out.tensors[i] = request.default_plan();
  }
}

void set_order(PrunePlan& plan, const Checkpoint& in) {
  plan.order.clear();
  for (std::size_t i = 0; i < plan.tensors.size(); ++i)
    if (plan.tensors[i]) plan.order.push_back(i);
  std::ranges::sort(plan.order, [&](std::size_t a, std::size_t b) {
    return natural_less(in.tensors()[a].name, in.tensors()[b].name);
  });
}

// By default, n:m and n:m:g run along the inputs of a layer.
void follow_axes(PrunePlan& plan) {
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    auto& how = plan.tensors[i];
    if (!how) continue;
    const bool is_named = (axis_of(how->sparsifier) && !has_default_axis(how->sparsifier)) ||
                          (axis_of(how->to) && !has_default_axis(how->to));
    how->sparsifier = for_matrix(how->sparsifier, plan.transposed[i] && !is_named);
    how->to = for_matrix(how->to, plan.transposed[i] && !is_named);
  }
}

}  // namespace

std::vector<std::optional<Spec>> PrunePlan::layouts(const Reordering& reordering) const {
  std::vector<std::optional<Spec>> all(tensors.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (tensors[i])
      all[i] = tensors[i]->to;
    else if (reordering.moves(i))
      all[i] = Spec(Dense::name);
  }
  return all;
}

PrunePlan plan_of(const PruneRequest& request, const Checkpoint& in, const Checkpoint* masks) {
  const Patterns& patterns = request.options().patterns;
  PrunePlan out;
  out.tensors.resize(in.tensors().size());
  std::vector<bool> skipped(in.tensors().size());
  if (masks) {
    plan_by_masks(request, in, *masks, out);
  } else if (request.default_plan()) {
    const bool is_measured = !request.options().calibration.data.empty();
    Selection s = select_tensors(in, patterns, Purpose::prune);
    out.skipped = s.skipped;
    skipped = std::move(s.unfit);
    out.why = std::move(s.why);
    for (std::size_t i = 0; i < s.chosen.size(); ++i) {
      // Files can have statistics of a tensor's columns; calibration by a model's run does not
      // compute them for convolutions and stacks of experts.
      const CheckpointTensor& t = in.tensors()[i];
      if (s.chosen[i] && t.shape.size() > 2 && !out.why.empty() && is_measured)
        out.why[i] = is_expert_stack(t) ? SkipReason::experts : SkipReason::convolution;
      else if (s.chosen[i])
        out.tensors[i] = request.default_plan();
    }
  } else if (!patterns.include.empty()) {
    fail_usage("--include with rules needs --sparsity or --structure");
  }
  if (!request.rules().empty()) plan_by_rules(request, in, std::move(skipped), out);
  set_order(out, in);
  const auto is_mask = [](const CheckpointTensor& t) { return t.dtype == DType::BOOL; };
  if (out.order.empty() && !in.tensors().empty() && std::ranges::all_of(in.tensors(), is_mask))
    fail_usage("{}: expected weights, got masks of BOOL (--mask takes masks)", in.name());
  const auto not_calibrated = std::ranges::count_if(out.why, [](SkipReason why) {
    return why == SkipReason::convolution || why == SkipReason::experts;
  });
  if (out.order.empty() && not_calibrated > 0)
    fail_usage("{}: expected linear layers to calibrate ({})", in.name(), left_alone(out.why));
  if (out.order.empty() && !masks)
    fail_usage("{}: none of the {} tensors is chosen: {}", in.name(), in.tensors().size(),
               patterns.exclude.empty() && request.rules().empty()
                   ? "none is a weight by its name (choose with --include)"
                   : "patterns and rules exclude all");
  out.transposed = in_by_out(in, request.options().input);
  follow_axes(out);
  return out;
}

void narrow(PrunePlan& plan, const Checkpoint& in, const std::string& only,
            const Checkpoint* so_far) {
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    auto& how = plan.tensors[i];
    if (!how) continue;
    const std::string& name = in.tensors()[i].name;
    if (so_far && so_far->find(name))
      *how = TensorPlan{Spec("same-pattern"), how->to};
    else if (!only.empty() && name != only)
      how.reset();
  }
  set_order(plan, in);
}

void find_tied(PrunePlan& plan, const Checkpoint& in, const Reordering& reordering) {
  const std::vector<std::size_t> equal = first_equals(in, plan.order);
  plan.first.resize(equal.size());
  std::map<std::size_t, std::size_t> shared;  // by equal[i]: the tensor whose mask is shared
  for (const std::size_t i : plan.order) {
    if (equal[i] != i)
      plan.tied.push_back(fmt::format("{} and {}", quote(in.tensors()[equal[i]].name),
                                      quote(in.tensors()[i].name)));
    const bool shares = plan.tensors[i]->global && !reordering.moves(i);
    plan.first[i] = shares ? shared.try_emplace(equal[i], i).first->second : i;
  }
}

}  // namespace sten
