// Layouts and the sparsifiers that choose what they hold.
#pragma once
#include <optional>

#include "libsten/base/spec.h"

namespace sten {

// Of nm and nmg, as people name structures: per-block or nmg, checked, its keys in canonical order.
// `fit` may be among them. Error (usage).
Spec grouped_sparsifier(const Spec& structure);
// The layout that stores exactly what a sparsifier of structures keeps; none for others.
std::optional<Spec> own_layout(const Spec& sparsifier);
// Whether any mask that the sparsifier makes can be packed so, as far as the specs tell: false for
// nm and nmg where they may be too narrow.
bool holds(const Spec& layout, const Spec& sparsifier);

}  // namespace sten
