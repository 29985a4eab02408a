// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libsten/core/base/text.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/structure.h"
#include "libsten/core/sparsify/global_selection.h"
#include "libsten/training/recipe/check.h"
#include "libsten/training/recipe/sparsity_schedule.h"

namespace sten::recipe_detail {
namespace {

// The registry's spec, without a sparsity that n and m imply.
Spec checked_sparsifier(const Spec& by_any_name) {
  const Spec given = as_sparsifier(by_any_name);
  const bool says_again = has_share(given) && given.has("sparsity");
  Spec s(given.name());
  for (const auto& [key, value] : given.args())
    if (!(says_again && key == "sparsity")) s.set(key, value);
  const Spec own = is_structure(s) ? own_sparsifier(s) : s;
  const Sparsifier by = registry().sparsifier(own);
  if (by.needs_pattern() || by.needs_own())
    fail_usage("{} selects nothing on its own (expected a sparsifier such as magnitude)", s.name());
  if (says_again) {
    const double implied = by.share()->sparsity();
    if (!(std::abs(given.number("sparsity") - implied) < rounding))
      fail_usage("sparsity {} contradicts the sparsity of {}, {} (omit the key)",
                 given.number("sparsity"), s.str(), implied);
  }
  return own.is(s.name()) ? s : own;  // with the given keys
}

// A layout without parameters takes those of its own sparsifier.
Spec checked_layout(const Spec& s, const Spec& sparsifier) {
  Spec layout = s;
  const auto own = own_layout(sparsifier);
  if (s.args().empty() && own && own->is(s.name())) layout = *own;
  layout = registry().canonical(layout);
  if (!holds(layout, sparsifier))
    fail_usage("layout {} cannot hold every pattern of {}", layout.str(), sparsifier.str());
  return layout;
}

// Takes the sparsifier of the last stage if the schedule lists sparsifiers.
void take_last(const JsonReader& at, SparsityRecipe& s) {
  const JsonReader schedule = at["schedule"], list = schedule["sparsifiers"];
  for (const char* key : {"from", "to", "step"})
    if (schedule.has(key))
      schedule[key].fail(fmt::format("{} and sparsifiers exclude each other", key));
  const auto entries = list.elements();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Spec& one = s.schedule.sparsifiers[i];
    one = entries[i].read([&] { return checked_sparsifier(one); });
  }
  const auto ranks_by = [&](bool sums) {
    return std::ranges::any_of(s.schedule.sparsifiers, [&](const Spec& one) {
      const Sparsifier by = registry().sparsifier(one);
      return by.needs_scores() && by.adds_scores() == sums;
    });
  };
  if (ranks_by(true) && ranks_by(false))
    list.fail(
        "sparsifiers with additive scores and sparsifiers with the last gradient exclude each "
        "other");
  const Spec& last = s.schedule.sparsifiers.back();
  if (at.has("sparsifier") && s.sparsifier != last)
    at["sparsifier"].fail(fmt::format("{} differs from the last sparsifier of the schedule, {}",
                                      s.sparsifier.str(), last.str()));
  s.sparsifier = last;
}

bool rises(const ScheduleRecipe& s) {
  return s.sparsifiers.empty() && s.kind != "one-shot" && s.kind != "layer-wise";
}

// The final sparsity: that of the sparsifier, or else of the schedule.
void settle_end(const JsonReader& at, SparsityRecipe& s) {
  const JsonReader schedule = at["schedule"];
  if (s.schedule.kind == "iterative") {
    require(schedule, "from", "0.5");
    require(schedule, "step", "0.1");
  }
  if (has_share(s.sparsifier))
    schedule["kind"].fail(
        fmt::format("{} has a fixed sparsity (use the key sparsifiers for an iterative schedule)",
                    s.sparsifier.str()));
  const std::string key = sparsity_key_of(s.sparsifier.name());
  if (schedule.has("to") && !s.sparsifier.has(key))
    s.sparsifier.set(key, fmt::format("{}", s.schedule.to));
}

void check_end(const JsonReader& at, SparsityRecipe& s) {
  const JsonReader schedule = at["schedule"];
  const double to =
      schedule["kind"].read([&] { return s.sparsifier.number(sparsity_key(s.sparsifier)); });
  if (schedule.has("to") && std::abs(to - s.schedule.to) > rounding)
    schedule["to"].fail(fmt::format("{} contradicts the sparsifier's sparsity {} (omit the key)",
                                    s.schedule.to, to));
  s.schedule.to = to;
  const ScheduleRecipe& by = s.schedule;
  if (to < by.from)
    place(schedule, "from").fail(fmt::format("{} is above the final sparsity {}", by.from, to));
  schedule.read([&] {
    return by.kind == "iterative" ? iterative_sparsities(by.from, to, by.step)
                                  : gradual_sparsities(by.kind, by.from, to, by.stages);
  });
}

void check_ends(const JsonReader& at, const SparsityRecipe& s) {
  const Index begin = s.schedule.begin;
  const auto after = [&](const char* section, Index end) {
    if (end > 0 && end <= begin)
      at[section]["end"].fail(fmt::format("end {} must be after schedule/begin {}", end, begin));
  };
  after("schedule", s.schedule.end);
  after("mask", s.mask.end);
  if (s.scores) after("scores", s.scores->end);
}

// Checks that the mask updates fit the sparsifier and the layout.
void check_mask(const JsonReader& at, const SparsityRecipe& s) {
  const auto all = [&](const auto& is) {
    return is(s.sparsifier) && std::ranges::all_of(s.schedule.sparsifiers, is);
  };
  if (s.mask.kind == "regrow" && !all([](const Spec& by) { return by.is("magnitude"); }))
    at["mask"]["kind"].fail(fmt::format(
        "regrow needs the sparsifier magnitude, got {} (use refresh or straight-through)",
        s.sparsifier.str()));
  if (s.mask.kind != "straight-through") return;
  if (!all([](const Spec& by) { return !registry().sparsifier(by).needs_scores(); }))
    at["mask"]["kind"].fail(fmt::format(
        "straight-through needs a sparsifier without scores, got {}", s.sparsifier.str()));
}

// Sparsifiers with learned scores.
struct Learned {
  const char* sparsifier;
  double initial;
  bool has_penalty;
};
constexpr Learned all_learned[] = {{"l0", 2, true},
                                   {"movement", 0, false},
                                   {"soft-movement", 0, true},
                                   {"variational-dropout", -8, true}};

void check_scores(const JsonReader& at, SparsityRecipe& s) {
  const JsonReader section = at["scores"];
  const auto* found = std::ranges::find_if(
      all_learned, [&](const Learned& l) { return s.sparsifier.is(l.sparsifier); });
  if (found == std::end(all_learned))
    section.fail(fmt::format("{} has no learned scores", s.sparsifier.name()));
  if (found->has_penalty && !(s.scores->penalty > 0))
    place(section, "penalty").fail(fmt::format("{} needs a penalty > 0", found->sparsifier));
  if (!found->has_penalty)
    for (const char* key : {"penalty", "warmup"})
      if (section.has(key)) section[key].fail(fmt::format("{} has no {}", s.sparsifier.str(), key));
  if (!section.has("initial")) s.scores->initial = found->initial;
  if (s.mask.kind != "fixed") at["mask"].fail("mask and scores exclude each other");
  if (s.calibration) at["calibration"].fail("calibration and scores exclude each other");
  if (!s.schedule.sparsifiers.empty())
    at["schedule"]["sparsifiers"].fail("sparsifiers and scores exclude each other");
}

void check_global(const JsonReader& at, const SparsityRecipe& s) {
  const auto refuse = [&](bool is, const char* what) {
    if (is) at["scope"].fail(fmt::format("scope global and {} exclude each other", what));
  };
  refuse(s.schedule.kind == "layer-wise", "schedule layer-wise");
  refuse(s.calibration.has_value(), "calibration");
  refuse(s.scores.has_value(), "scores");
  const auto check = [&](const Spec& by) {
    if (!GlobalSelection::supports(by))
      at["scope"].fail(
          fmt::format("scope global needs the sparsifier magnitude, block-magnitude, movement or "
                      "gradient, got {}",
                      by.name()));
  };
  check(s.sparsifier);
  for (const Spec& by : s.schedule.sparsifiers) check(by);
  if (s.sparsifier.is("gradient") && s.mask.kind == "refresh")
    at["scope"].fail("scope global with the sparsifier gradient needs fixed masks, got refresh");
}

void check_recovery(const JsonReader& at, const SparsityRecipe& s) {
  const JsonReader schedule = at["schedule"];
  if (!s.schedule.prunes_until_recovered()) {
    for (const char* key : {"tolerance", "rounds", "patience"})
      if (schedule.has(key))
        schedule[key].fail(
            fmt::format("{} needs the key until (add \"until\": \"recovered\")", key));
    return;
  }
  if (s.scores) at["scores"].fail("scores and schedule/until exclude each other");
  // The last gradient is kept only if the step of a stage is known before.
  const Sparsifier by = registry().sparsifier(s.sparsifier);
  if (by.needs_scores() && !by.adds_scores())
    schedule["until"].fail(
        fmt::format("until needs a sparsifier that does not rank by the last gradient, got {}",
                    s.sparsifier.name()));
}

void check_calibration(const JsonReader& at, SparsityRecipe& s) {
  CalibrationRecipe& c = *s.calibration;
  if (c.method == "magnitude" && !c.reconstruct)
    place(at, "method").fail("magnitude without reconstruct needs no calibration (omit the key)");
  const bool uses_damping = c.method == "sparsegpt" || c.method == "admm" || c.reconstruct;
  if (!uses_damping && c.damping != CalibrationRecipe{}.damping)
    at["damping"].fail("damping needs the method sparsegpt or admm, or reconstruct");
  const auto all = [&](const auto& is) {
    return is(s.sparsifier) && std::ranges::all_of(s.schedule.sparsifiers, is);
  };
  if (!all(ranks_magnitudes))
    at.fail(fmt::format("calibration needs a sparsifier that ranks magnitudes, got {}",
                        s.sparsifier.str()));
  if (s.mask.kind == "straight-through")
    at.fail("calibration and a straight-through mask exclude each other");
  const bool is_unstructured = all([](const Spec& by) { return by.is("magnitude"); });
  if (c.scope == "row" && !is_unstructured)
    at["scope"].fail("scope row needs the sparsifier magnitude");
  if (c.scope.empty()) c.scope = c.method == "wanda" && is_unstructured ? "row" : "local";
}

}  // namespace

void check(const JsonReader& at, SparsityRecipe& s) {
  if (s.target.empty()) at["target"].fail("expected a non-empty value");
  const bool listed = at.has("schedule") && at["schedule"].has("sparsifiers");
  if (listed && s.schedule.sparsifiers.empty())
    at["schedule"]["sparsifiers"].fail("expected a non-empty value");
  if (!listed) require(at, "sparsifier", "\"magnitude:sparsity=0.9\"");
  if (rises(s.schedule)) settle_end(at, s);
  if (at.has("sparsifier"))
    s.sparsifier = at["sparsifier"].read([&] { return checked_sparsifier(s.sparsifier); });
  if (listed) take_last(at, s);
  if (rises(s.schedule)) check_end(at, s);
  s.layout = place(at, "layout").read([&] { return checked_layout(s.layout, s.sparsifier); });
  for (const Spec& stage : s.schedule.sparsifiers)
    place(at, "layout").read([&] { return checked_layout(s.layout, stage); });
  s.save = place(at, "save").read([&] { return checked_layout(s.save, s.sparsifier); });
  const Sparsifier by = registry().sparsifier(s.sparsifier);
  if (by.scores_are_learned() && !s.scores)
    place(at, "sparsifier")
        .fail(fmt::format("{} needs learned scores (add the key scores)", s.sparsifier.name()));
  if (s.schedule.begin == 0 && by.needs_scores() && !by.scores_are_learned())
    place(at, "sparsifier")
        .fail(
            fmt::format("{} needs gradients, which are missing at step 0 (set schedule/begin > 0)",
                        s.sparsifier.name()));
  if (s.layout.is(Dense::name))
    at["layout"].fail("layout dense does not keep pruned weights at 0 (use masked)");
  check_ends(at, s);
  check_mask(at, s);
  if (s.is_global()) check_global(at, s);
  if (at.has("schedule")) check_recovery(at, s);
  if (s.scores) check_scores(at, s);
  if (s.calibration) check_calibration(at["calibration"], s);
}

}  // namespace sten::recipe_detail
