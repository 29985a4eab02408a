// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/plan/tensor_plan.h"

#include <cmath>

#include "libsten/core/base/hints.h"
#include "libsten/core/layout/bitmask.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/structure.h"

namespace sten {
namespace {

std::string number_text(double v) { return fmt::format("{}", v); }

// If so, the layout gets those of the sparsifier.
bool lacks_parameters(const Spec& layout) {
  return layout.args().empty() && registry().needs_parameters(layout.name());
}

std::string sparsity_of(const TensorOptions& o) {
  if (!o.sparsity) fail_usage("missing --sparsity, the fraction of weights to remove, such as 0.9");
  return number_text(*o.sparsity);
}

Spec unstructured_sparsifier(const TensorOptions& o) {
  if (o.method == PruneMethod::threshold) {
    if (o.sparsity) fail_usage("--sparsity and --method threshold exclude each other");
    if (!o.at) fail_usage("--method threshold needs --at, the smallest kept magnitude");
    return Spec("threshold").set("at", number_text(*o.at));
  }
  if (o.method == PruneMethod::l0) {
    if (o.sparsity) fail_usage("--sparsity and --method l0 exclude each other");
    return Spec("l0");
  }
  if (o.method == PruneMethod::random) return Spec("random").set("fraction", sparsity_of(o));
  return Spec(o.is_calibrated() ? "magnitude" : name_of(o.method)).set("sparsity", sparsity_of(o));
}

// The checked sparsifier of structure block, with keys in canonical order.
Spec block_sparsifier(const TensorOptions& o, const Spec& structure) {
  structure.check_keys({"h", "w", "dims"});
  Spec s = Spec("block-magnitude").set("sparsity", sparsity_of(o));
  s.set("h", structure.integer("h")).set("w", structure.integer("w"));
  if (structure.has("dims")) s.set("dims", std::string(structure.word("dims", "")));
  return s;
}

// Whether an unstructured method prunes each row equally; wanda does, as published.
bool takes_rows(const TensorOptions& o) {
  return o.scope == PruneScope::row || (!o.scope && o.method == PruneMethod::wanda);
}

// Sets the fields that follow from the sparsifier, and the layout.
void finish(TensorPlan& t, const Spec& to) {
  const Sparsifier by = registry().sparsifier(t.sparsifier);
  t.needs_scores = t.by_gradient || by.needs_scores();
  t.has_seed = by.has_seed();
  t.fit = by.fit_name();
  t.to = resolve_to(to, t.sparsifier);
}

}  // namespace

Spec structure_of(const TensorOptions& o) {
  const Spec structure = as_structure(o.structure), to = as_structure(o.to);
  if (structure.is("unstructured")) {
    structure.check_keys({});
    return is_structure(to) && !lacks_parameters(to) ? to : structure;
  }
  if (!is_structure(structure) && !as_sparsifier(structure).is("block-magnitude")) {
    std::vector<std::string> known = structures();
    known.insert(known.begin(), {"unstructured", "block"});
    fail_usage("{}", unknown_name("structure", structure.name(), known, "2:4"));
  }
  return structure;
}

Spec resolve_to(const Spec& given, const Spec& sparsifier) {
  const Spec to = as_structure(given);
  const auto own = own_layout(sparsifier);
  if (to.is("auto")) {
    to.check_keys({});
    return own && is_structure(*own) ? *own : Spec(Bitmask::name);
  }
  const bool is_own = own && own->is(to.name());
  if (is_own && lacks_parameters(to)) return registry().canonical(*own);
  if (is_structure(to) && lacks_parameters(to))
    fail_usage("--to {}: missing parameters (or --structure {})", to.name(), to.name());
  Spec layout = registry().canonical(to);
  if (!own || !is_structure(*own) || !is_structure(to)) return layout;
  // The sparsifier keeps more than n of m: an error for any blocks along either axis.
  const auto kept = registry().sparsifier(sparsifier).share(),
             room = registry().sparsifier(own_sparsifier(layout)).share();
  if (kept && room && kept->n * room->m > room->n * kept->m)
    fail_usage("{} keeps {} of {}: too many for --to {}", own->str(), kept->n, kept->m, to.str());
  return layout;
}

TensorPlan default_plan(const TensorOptions& o, const Spec& structure) {
  TensorPlan t;
  t.global = o.scope == PruneScope::global;
  t.calibrated = o.is_calibrated();
  if (t.global && t.calibrated)
    fail_usage("--scope global does not support --method {}{}", name_of(o.method),
               o.reconstruct ? " with --reconstruct" : "");
  if (o.scope == PruneScope::row && (!t.calibrated || !structure.is("unstructured")))
    fail_usage(
        "--scope row needs unstructured pruning by --method wanda, ria, sparsegpt or admm, or with "
        "--reconstruct");
  t.by_row = takes_rows(o) && structure.is("unstructured");
  if (structure.is("unstructured")) {
    t.sparsifier = unstructured_sparsifier(o);
    if (t.global && !t.sparsifier.has("sparsity"))
      fail_usage("--scope global needs --method magnitude, movement or gradient");
  } else {
    t.by_gradient = o.method == PruneMethod::gradient;
    if (o.method != PruneMethod::magnitude && !t.by_gradient && !t.calibrated)
      fail_usage(
          "--method {} is only for unstructured pruning (structures need magnitude, gradient, "
          "wanda, ria, sparsegpt or admm)",
          name_of(o.method));
  }
  if (as_sparsifier(structure).is("block-magnitude")) {
    t.sparsifier = block_sparsifier(o, structure);
  } else if (!structure.is("unstructured")) {
    if (t.global) fail_usage("--scope global needs unstructured pruning, got {}", structure.str());
    t.sparsifier = own_sparsifier(structure);
    const auto implied = sparsity_of(t.sparsifier);
    if (o.sparsity && !implied)
      fail_usage("--sparsity and --structure {} exclude each other", structure.str());
    if (o.sparsity && std::abs(*o.sparsity - *implied) > 1e-9)
      fail_usage("--sparsity {} contradicts --structure {} of sparsity {} (leave one out)",
                 *o.sparsity, structure.str(), *implied);
  }
  finish(t, o.to);
  return t;
}

std::optional<TensorPlan> plan_of_rule(const Rule& rule, const TensorOptions& o) {
  try {
    if (rule.spec.is("keep")) {
      rule.spec.check_keys({});
      return std::nullopt;
    }
    TensorPlan t;
    t.sparsifier = is_structure(rule.spec) ? own_sparsifier(rule.spec) : as_sparsifier(rule.spec);
    const Sparsifier by = registry().sparsifier(t.sparsifier);
    if (by.needs_pattern())
      fail_usage("expected a sparsifier that prunes, got {}", t.sparsifier.name());
    if (by.needs_own()) fail_usage("tensors of a file have no own sparsifier");
    t.calibrated = o.is_calibrated() && ranks_magnitudes(t.sparsifier);
    t.by_row = takes_rows(o) && t.calibrated && t.sparsifier.is("magnitude");
    finish(t, o.to);
    return t;
  } catch (const Error& e) {
    fail_usage("{} {}: {}", rule.where, quote(rule.pattern), e.what());
  }
}

}  // namespace sten
