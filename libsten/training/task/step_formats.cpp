// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/step_formats.h"

#include <algorithm>
#include <map>

#include "libsten/core/base/name_pattern.h"
#include "libsten/core/base/random.h"
#include "libsten/core/base/text.h"
#include "libsten/core/registry/registry.h"
#include "libsten/training/recipe/targets.h"
#include "libsten/training/task/weight_stages.h"

namespace sten {
namespace {

bool is_of_weight(const FormatRecipe& f) { return f.of == "weight-gradient"; }

// Moments of running statistics are not values of the model.
bool is_value(const Node& n) { return n.op != Name("batch-moments"); }

std::vector<std::string> names_in(const Graph& g, const FormatRecipe& f) {
  std::vector<std::string> names;
  if (is_of_weight(f)) {
    for (const Weight& w : g.weights())
      if (!g.is_statistic(w.name)) names.push_back(w.name);
  } else {
    for (const Node& n : g.nodes())
      if (is_value(n)) names.push_back(n.name);
  }
  return names;
}

class Matcher {
 public:
  explicit Matcher(const std::string& target) {
    for (const std::string& one : pattern_list(target)) patterns_.emplace_back(one);
  }
  bool operator()(const std::string& name) const {
    return std::ranges::any_of(patterns_, [&](const NamePattern& p) { return p.matches(name); });
  }

 private:
  std::vector<NamePattern> patterns_;
};

// Error (usage) if a part of the target matches no name.
std::vector<std::string> names_meant(const FormatRecipe& f, const Graph& g) {
  const std::vector<std::string> names = names_in(g, f);
  for (const std::string& one : pattern_list(f.target)) {
    const NamePattern p(one);
    if (std::ranges::any_of(names, [&](const std::string& name) { return p.matches(name); }))
      continue;
    std::string near;
    for (const std::string& name : nearest(one, names, 3))
      near += (near.empty() ? "; near are " : ", ") + quote(name);
    fail_usage("{} matches none of the {} {} of the model{}", quote(one), names.size(),
               is_of_weight(f) ? "weights" : "values", near);
  }
  const Matcher matches(f.target);
  std::vector<std::string> meant;
  std::ranges::copy_if(names, std::back_inserter(meant), matches);
  return meant;
}

bool overlap(const FormatRecipe& a, const FormatRecipe& b) {
  return a.of == b.of && a.begin < b.end && b.begin < a.end;
}

bool draws(const Spec& by) { return !by.has("seed") && registry().sparsifier(by).has_seed(); }

OutFormat format_of(const FormatRecipe& f, const std::string& name, std::uint64_t seed,
                    Index step) {
  return {sparsifier_in_step(f.inline_by, name + "/inline", seed, step), f.temporary,
          sparsifier_in_step(f.external, name + "/external", seed, step), f.layout};
}

Graph with(const Graph& g, const Recipe& r, Index step, bool only_values) {
  GraphParts parts = g.parts();
  for (const FormatRecipe& f : r.formats) {
    if (!f.holds(step) || (only_values && f.of != "intermediate")) continue;
    const Matcher matches(f.target);
    const auto format = [&](const std::string& name) { return format_of(f, name, r.seed, step); };
    if (is_of_weight(f)) {
      for (Weight& w : parts.weights)
        if (matches(w.name)) w.format.grad = format(w.name);
    } else {
      for (Node& n : parts.nodes)
        if (is_value(n) && matches(n.name))
          (f.of == "intermediate" ? n.formats.out : n.formats.grad) = format(n.name);
    }
  }
  return Graph(std::move(parts));
}

}  // namespace

Sparsifier sparsifier_in_step(Spec by, const std::string& name, std::uint64_t seed, Index step) {
  if (draws(by))
    by.set("seed", static_cast<Index>(
                       random_bits(seed_for(seed, name), static_cast<std::uint64_t>(step)) >> 1));
  return registry().sparsifier(by);
}

void check_formats(const Recipe& r, const Graph& g) {
  // Previous entries by name.
  std::map<std::string, std::vector<std::size_t>> entries;
  std::map<std::string, const SparsityRecipe*> sparse;
  if (std::ranges::any_of(r.formats, is_of_weight)) {
    const auto targets = match_targets(r.sparsity, g.weights());
    for (std::size_t i = 0; i < targets.size(); ++i)
      for (const std::string& name : targets[i]) sparse.emplace(name, &r.sparsity[i]);
  }
  for (std::size_t i = 0; i < r.formats.size(); ++i) {
    const FormatRecipe& f = r.formats[i];
    try {
      for (const std::string& name : names_meant(f, g)) {
        for (const std::size_t before : entries[f.of + ":" + name])
          if (overlap(f, r.formats[before]))
            fail_usage("{} also matches /formats/{} in some of the same steps", quote(name),
                       before);
        entries[f.of + ":" + name].push_back(i);
        if (!is_of_weight(f)) continue;
        const auto at = sparse.find(name);
        if (at == sparse.end()) continue;
        if (at->second->scores || at->second->mask.kind == "straight-through")
          fail_usage(
              "{} needs the dense gradient: {}", quote(name),
              at->second->scores ? "the scores are learned" : "the mask is straight-through");
      }
    } catch (const Error& e) {
      throw Error(e.fault(), fmt::format("/formats/{}/target: {}", i, e.what()));
    }
  }
}

Graph with_formats(const Graph& g, const Recipe& r, Index step) { return with(g, r, step, false); }

Graph with_value_formats(const Graph& g, const Recipe& r, Index step) {
  return with(g, r, step, true);
}

bool formats_change(const Recipe& r, Index step) {
  return std::ranges::any_of(r.formats, [&](const FormatRecipe& f) {
    return f.begin == step || f.end == step ||
           (f.holds(step) && (draws(f.inline_by) || draws(f.external)));
  });
}

bool has_last_formats(const Recipe& r, Index step) {
  return std::ranges::all_of(r.formats, [&](const FormatRecipe& f) {
    return f.begin < step && (f.end == r.steps || f.end < step);
  });
}

}  // namespace sten
