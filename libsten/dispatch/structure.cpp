#include "libsten/dispatch/structure.h"

#include "libsten/dispatch/registry.h"

namespace sten {

Spec grouped_sparsifier(const Spec& structure) {
  Spec layout(structure.name());  // its errors name what was given
  for (const auto& [key, value] : structure.args())
    if (key != "fit") layout.set(key, value);
  registry().check_layout(layout);
  Spec s(structure.is("nm") ? "per-block" : "nmg");
  for (const char* key : {"n", "m", "g", "axis", "dims", "fit"})
    if (structure.has(key)) s.set(key, std::string(structure.word(key, "")));
  registry().sparsifier(s);
  return s;
}

std::optional<Spec> own_layout(const Spec& sparsifier) {
  if (sparsifier.is("block-magnitude")) {
    Spec layout("bcsr");
    for (const auto& [key, value] : sparsifier.args())
      if (key != "sparsity") layout.set(key, value);
    return layout;
  }
  if (!sparsifier.is("per-block") && !sparsifier.is("nmg")) return std::nullopt;
  Spec layout(sparsifier.is("nmg") ? "nmg" : "nm");
  for (const auto& [key, value] : sparsifier.args())
    if (key != "fit") layout.set(key, value);
  return registry().canonical(layout);
}

bool holds(const Spec& layout, const Spec& sparsifier) {
  if (!layout.is("nm") && !layout.is("nmg")) return true;
  const auto own = own_layout(sparsifier);
  if (!own || own->is("bcsr")) return false;
  const auto axis = [](const Spec& s) { return s.integer("axis", s.is("nm") ? 1 : 0); };
  if (axis(*own) != axis(layout) || own->word("dims", "") != layout.word("dims", "") ||
      own->integer("m") != layout.integer("m"))
    return false;
  const Index n = own->integer("n"), room = layout.integer("n");
  if (layout.is("nm")) return n <= room;
  return own->is("nmg") && n == room && own->integer("g") == layout.integer("g");
}

}  // namespace sten
