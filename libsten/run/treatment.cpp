#include "libsten/run/treatment.h"

#include <cmath>

#include "libsten/dispatch/registry.h"
#include "libsten/dispatch/structure.h"

namespace sten {
namespace {

std::string number_text(double v) { return fmt::format("{}", v); }

bool is_grouped(const Spec& s) { return s.is("nm") || s.is("nmg"); }

std::string sparsity_of(const PruneOptions& o) {
  if (!o.sparsity)
    fail_usage("--sparsity is missing: the fraction of weights to remove, such as 0.9");
  return number_text(*o.sparsity);
}

Spec unstructured_sparsifier(const PruneOptions& o) {
  if (o.method == "threshold") {
    if (o.sparsity) fail_usage("--sparsity and --method threshold exclude each other");
    if (!o.at) fail_usage("--method threshold needs --at, the smallest magnitude that stays");
    return Spec("threshold").set("at", number_text(*o.at));
  }
  if (o.method == "l0") {
    if (o.sparsity)
      fail_usage("--sparsity and --method l0, whose scores say how many stay, exclude each other");
    return Spec("l0");
  }
  if (o.method == "random") return Spec("random").set("fraction", sparsity_of(o));
  return Spec(o.method).set("sparsity", sparsity_of(o));
}

// Of structure block, checked, its keys in canonical order.
Spec block_sparsifier(const PruneOptions& o, const Spec& structure) {
  structure.check_keys({"h", "w", "dims"});
  Spec s = Spec("block-magnitude").set("sparsity", sparsity_of(o));
  s.set("h", structure.integer("h")).set("w", structure.integer("w"));
  if (structure.has("dims")) s.set("dims", std::string(structure.word("dims", "")));
  return s;
}

}  // namespace

Spec structure_of(const PruneOptions& o) {
  const Spec structure = Spec::parse(o.structure), to = Spec::parse(o.to);
  if (structure.is("unstructured")) {
    structure.check_keys({});
    return is_grouped(to) && !to.args().empty() ? to : structure;
  }
  if (!is_grouped(structure) && !structure.is("block"))
    fail_usage("there is no structure {}{}", quote(structure.name()),
               suggestion(structure.name(), {"unstructured", "block", "nm", "nmg"}));
  return structure;
}

Spec resolve_to(const std::string& text, const Spec& sparsifier) {
  const Spec to = Spec::parse(text);
  const auto own = own_layout(sparsifier);
  if (to.is("auto")) {
    to.check_keys({});
    return own && !own->is("bcsr") ? *own : Spec("bitmask");
  }
  if ((is_grouped(to) || (to.is("bcsr") && own && own->is("bcsr"))) && to.args().empty()) {
    if (!own || !own->is(to.name()))
      fail_usage("--to {} takes its numbers from a structure {}, and there is none; give them",
                 to.name(), to.name());
    return registry().canonical(*own);
  }
  // More of each n than there is room for: that holds for any blocks, along either axis.
  const auto crowded = [&] {
    return own->integer("n") * to.integer("m") > to.integer("n") * own->integer("m");
  };
  Spec layout = registry().canonical(to);
  if (own && is_grouped(*own) && is_grouped(to) && crowded())
    fail_usage("{} keeps {} of {}, more than --to {} holds", own->str(), own->integer("n"),
               own->integer("m"), to.str());
  return layout;
}

Treatment default_treatment(const PruneOptions& o, const Spec& structure) {
  Treatment t;
  t.global = o.scope == "global";
  if (structure.is("unstructured")) {
    t.sparsifier = unstructured_sparsifier(o);
    if (t.global && !t.sparsifier.has("sparsity"))
      fail_usage("--scope global is for --method magnitude, movement and gradient");
  } else {
    t.by_gradient = o.method == "gradient";
    if (o.method != "magnitude" && !t.by_gradient)
      fail_usage(
          "--method {} exists for unstructured pruning alone; magnitude and gradient choose "
          "structures too",
          o.method);
  }
  if (structure.is("block")) {
    t.sparsifier = block_sparsifier(o, structure);
  } else if (!structure.is("unstructured")) {
    if (t.global)
      fail_usage("--scope global is for unstructured pruning: {} keeps the same share everywhere",
                 structure.str());
    t.sparsifier = grouped_sparsifier(structure);
    const double implied = 1 - static_cast<double>(structure.integer("n")) /
                                   static_cast<double>(structure.integer("m"));
    if (o.sparsity && std::abs(*o.sparsity - implied) > 1e-9)
      fail_usage("--sparsity {} contradicts --structure {}, whose sparsity is {}; leave one out",
                 *o.sparsity, structure.str(), implied);
  }
  t.needs_scores = t.by_gradient || registry().sparsifier(t.sparsifier).needs_scores();
  t.to = resolve_to(o.to, t.sparsifier);
  return t;
}

std::optional<Treatment> rule_treatment(const Rule& rule, const std::string& to) {
  try {
    if (rule.spec.is("keep")) {
      rule.spec.check_keys({});
      return std::nullopt;
    }
    Treatment t;
    t.sparsifier = is_grouped(rule.spec) ? grouped_sparsifier(rule.spec) : rule.spec;
    if (t.sparsifier.is("same-pattern"))
      fail_usage("a rule names how to prune, and same-pattern prunes nothing");
    if (t.sparsifier.is("resparsify"))
      fail_usage("the tensors of a file have no sparsifier of their own to apply anew");
    t.needs_scores = registry().sparsifier(t.sparsifier).needs_scores();
    t.to = resolve_to(to, t.sparsifier);
    return t;
  } catch (const Error& e) {
    fail_usage("{} {}: {}", rule.where, quote(rule.pattern), e.what());
  }
}

}  // namespace sten
