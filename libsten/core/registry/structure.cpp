// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/registry/structure.h"

#include <algorithm>

#include "libsten/core/layout/bcsr.h"
#include "libsten/core/layout/nm.h"
#include "libsten/core/layout/nmgv.h"
#include "libsten/core/registry/registry.h"

namespace sten {
namespace {

std::vector<std::string> own_keys_of(const Spec& layout) {
  return registry().own_keys(registry().own_sparsifier(layout.name()));
}

bool is_among(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::optional<Spec> example_of(const std::string& sparsifier) {
  for (const auto& example : registry().sparsifiers())
    if (example.name == sparsifier) return example.spec;
  return std::nullopt;
}

Spec renamed(const Spec& given, std::string name) {
  Spec s(std::move(name));
  for (const auto& [key, value] : given.args()) s.set(key, value);
  return s;
}

}  // namespace

bool is_structure(const Spec& layout) { return registry().is_structure(layout.name()); }

std::vector<std::string> structures() {
  std::vector<std::string> all;
  for (const auto& layout : registry().layouts())
    if (registry().is_structure(layout.name)) all.push_back(layout.name);
  return all;
}

Spec as_structure(const Spec& given) {
  for (const std::string& layout : structures())
    if (!given.name().empty() && registry().own_sparsifier(layout) == given.name())
      return renamed(given, layout);
  return given;
}

Spec as_sparsifier(const Spec& given) {
  return given.is("block") && !example_of("block") ? renamed(given, "block-magnitude") : given;
}

Spec layout_alone(const Spec& layout) {
  const std::vector<std::string> own = own_keys_of(layout);
  Spec alone(layout.name());
  for (const auto& [key, value] : layout.args())
    if (!is_among(own, key)) alone.set(key, value);
  return alone;
}

std::optional<Index> axis_of(const Spec& spec) {
  if (spec.is(Nm::name)) return spec.integer("axis", 1);
  if (spec.is(Nmg::name) || spec.is(Nmgv::name)) return spec.integer("axis", 0);
  return std::nullopt;
}

Spec transposed_structure(Spec structure) {
  if (const auto axis = axis_of(structure)) structure.set("axis", 1 - *axis);
  if (structure.is(Nmgv::name)) {
    const Index v = structure.integer("v"), w = structure.integer("w", Nmgv::usual_w);
    structure.set("v", w).set("w", v);
  }
  if (structure.is(Bcsr::name)) {
    const Index h = structure.integer("h", 1), w = structure.integer("w", 1);
    structure.set("h", w).set("w", h);
  }
  return structure;
}

Spec own_sparsifier(const Spec& layout) {
  const Spec numbers = registry().canonical(layout_alone(layout));  // errors name the layout
  const std::string name = registry().own_sparsifier(layout.name());
  if (name.empty()) fail_usage("layout {} has no own sparsifier", layout.name());
  Spec s(name);
  for (const auto& [key, value] : numbers.args()) s.set(key, value);
  for (const std::string& key : own_keys_of(layout))
    if (layout.has(key)) s.set(key, std::string(layout.word(key, "")));
  registry().sparsifier(s);
  return s;
}

std::optional<Spec> own_layout(const Spec& sparsifier) {
  for (const auto& layout : registry().layouts()) {
    if (registry().own_sparsifier(layout.name) != sparsifier.name()) continue;
    Spec own(layout.name);
    for (const auto& [key, value] : sparsifier.args()) own.set(key, value);
    own = layout_alone(own);
    // Only structures are checked: bcsr, say, may not support blocks of this size.
    return is_structure(own) ? registry().canonical(own) : own;
  }
  return std::nullopt;
}

bool holds(const Spec& layout, const Spec& sparsifier) {
  if (!is_structure(layout)) return true;
  const auto own = own_layout(sparsifier);
  return own && registry().includes(layout, *own);
}

bool has_share(const Spec& sparsifier) {
  const bool by_layout = is_structure(sparsifier);
  const auto example =
      example_of(by_layout ? registry().own_sparsifier(sparsifier.name()) : sparsifier.name());
  return example && registry().sparsifier(*example).share();
}

bool ranks_magnitudes(const Spec& sparsifier) {
  return sparsifier.is("magnitude") || sparsifier.is("block-magnitude") || has_share(sparsifier);
}

std::string sparsity_key_of(const std::string& sparsifier) {
  const auto example = example_of(sparsifier);
  return example && example->has("fraction") ? "fraction" : "sparsity";
}

std::optional<double> sparsity_of(const Spec& sparsifier) {
  for (const char* key : {"sparsity", "fraction"})
    if (sparsifier.has(key)) return sparsifier.number(key);
  if (const auto share = registry().sparsifier(sparsifier).share()) return share->sparsity();
  return std::nullopt;
}

}  // namespace sten
