// Layouts and the sparsifiers that choose what they hold (own_sparsifier in tensor/layout.h). The
// specs are of registered ones.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/base/spec.h"

namespace sten {

// Layouts whose numbers say which positions they hold, as people name them: nm, nmg, nmgv.
std::vector<std::string> structures();
bool is_structure(const Spec& layout);
// The layout alone of a spec that may have keys of its own sparsifier too: "nmg:n=1,m=4,g=4,fit=x".
Spec layout_alone(const Spec& layout);
// The spec of the structure whose own sparsifier `given` names, if the two names differ.
Spec as_structure(const Spec& given);
// block-magnitude for "block", its name in --structure. Other specs are returned unchanged.
Spec as_sparsifier(const Spec& given);
// The sparsifier of such a spec, checked, its keys in canonical order. Error (usage), also for a
// layout without one.
Spec own_sparsifier(const Spec& layout);
// The layout that stores exactly what the sparsifier keeps, in canonical order; none for those that
// belong to no layout.
std::optional<Spec> own_layout(const Spec& sparsifier);
// Of a layout or sparsifier n:m or n:m:g, where it runs: 0 down columns, 1 along rows; that of the
// spec, or the default. None for other specs.
std::optional<Index> axis_of(const Spec& spec);
// For the transposed matrix, what `structure`, a layout or sparsifier, is for a matrix: the other
// axis, and tiles and blocks with height and width exchanged.
Spec transposed_structure(Spec structure);

// Whether any mask that the sparsifier makes can be packed so, as far as the specs tell: false for
// structures that may be too narrow.
bool holds(const Spec& layout, const Spec& sparsifier);

// Whether the numbers of a sparsifier, or of a structure's own, say how much stays: not its
// `sparsity` or `fraction`.
bool has_share(const Spec& sparsifier);
// Whether it keeps what is largest, so that any ranks can take the place of magnitudes.
bool ranks_magnitudes(const Spec& sparsifier);
// What a sparsifier takes away, as far as its spec tells.
std::optional<double> sparsity_of(const Spec& sparsifier);
// The key that says so in specs of that name, where no share does: "sparsity" or "fraction".
std::string sparsity_key_of(const std::string& sparsifier);

}  // namespace sten
