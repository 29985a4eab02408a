#include <algorithm>

#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/structure.h"
#include "libsten/training/recipe/check.h"

namespace sten::recipe_detail {
namespace {

// The sparsifier of values or gradients. Sparsifiers that need more than values (for gradients,
// also positions of the operand) are an error. A structure's name stands for its sparsifier, as for
// weights.
Spec checked_sparsifier(const FormatRecipe& f, const Spec& given) {
  Spec spec = as_sparsifier(given);
  if (is_structure(spec)) spec = own_sparsifier(spec);
  const Sparsifier by = registry().sparsifier(spec);
  if (by.needs_scores()) fail_usage("{} needs scores, which formats do not have", spec.name());
  if (by.needs_own())
    fail_usage("{} selects nothing on its own (expected a sparsifier such as magnitude)",
               spec.name());
  if (by.needs_pattern() && f.of == "intermediate")
    fail_usage("{} needs the positions of a weight, which an intermediate does not have",
               spec.name());
  return spec;
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

}  // namespace sten::recipe_detail
