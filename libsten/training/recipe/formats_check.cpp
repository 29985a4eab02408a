// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/structure.h"
#include "libsten/training/recipe/check.h"

namespace sten::recipe_detail {
namespace {

// The sparsifier of values or gradients. Sparsifiers that need more than values are an error, for
// what has no positions of a weight also those that need positions. A structure's name stands for
// its sparsifier, as for weights. `of`: what it selects from, "gradients".
Spec checked_sparsifier(const Spec& given, const char* of, bool has_positions) {
  Spec spec = as_sparsifier(given);
  if (is_structure(spec)) spec = own_sparsifier(spec);
  const Sparsifier by = registry().sparsifier(spec);
  if (by.needs_scores()) fail_usage("{} needs scores, which {} do not have", spec.name(), of);
  if (by.needs_own())
    fail_usage("{} selects nothing on its own (expected a sparsifier such as magnitude)",
               spec.name());
  if (by.needs_pattern() && !has_positions)
    fail_usage("{} needs the positions of a weight, which {} do not have", spec.name(), of);
  return spec;
}
Spec checked_sparsifier(const FormatRecipe& f, const Spec& given) {
  const bool is_value = f.of == "intermediate";
  return checked_sparsifier(given, is_value ? "intermediates" : "gradients", !is_value);
}

// Checks that the layout can hold what one of the sparsifiers keeps, since all are applied. The
// positions of same-pattern are unknown here.
void check_holds(const Spec& layout, std::initializer_list<const Spec*> kept_by) {
  const auto fits = [&](const Spec* by) {
    return by->is("same-pattern") || holds(layout, as_sparsifier(*by));
  };
  if (std::ranges::any_of(kept_by, fits)) return;
  fail_usage("layout {} cannot hold every pattern of {}", layout.str(), (*kept_by.begin())->str());
}

}  // namespace

void check(const JsonReader& at, FormatRecipe& f) {
  if (f.target.empty()) at["target"].fail("expected a non-empty value");
  if (!at.has("layout")) f.layout = f.temporary;
  place(at, "inline").read([&] { f.inline_by = checked_sparsifier(f, f.inline_by); });
  place(at, "external").read([&] { f.external = checked_sparsifier(f, f.external); });
  place(at, "temporary").read([&] {
    f.temporary = registry().canonical(f.temporary);
    check_holds(f.temporary, {&f.inline_by});
  });
  place(at, "layout").read([&] {
    f.layout = registry().canonical(f.layout);
    check_holds(f.layout, {&f.external, &f.inline_by});
  });
  const Spec nothing("keep-all"), dense("dense");
  if (f.inline_by == nothing && f.external == nothing && f.temporary == dense && f.layout == dense)
    at.fail("format without a sparsifier or layout has no effect");
  if (f.end > 0 && f.end <= f.begin)
    at["end"].fail(fmt::format("end {} must be after begin {}", f.end, f.begin));
}

void check(const JsonReader& at, ExchangeRecipe& e) {
  place(at, "sparsifier").read([&] {
    e.sparsifier = checked_sparsifier(e.sparsifier, "gradients", false);
  });
  if (!e.compresses()) {
    if (!e.error_feedback) at["error_feedback"].fail("needs a sparsifier");
    if (e.begin > 0) at["begin"].fail("needs a sparsifier");
    return;
  }
  if (e.transport != "float32")
    place(at, "transport")
        .fail(fmt::format("compressed gradients are sent as float32, got {}", e.transport));
}

}  // namespace sten::recipe_detail
