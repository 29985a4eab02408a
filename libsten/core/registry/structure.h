// SPDX-License-Identifier: Apache-2.0
// Structures: layouts whose own sparsifier selects positions that they can hold (own_sparsifier in
// core/tensor/layout.h). All specs must be of registered names.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/core/base/spec.h"

namespace sten {

// The structures by the names that users type: nm, nmg, nmgv.
std::vector<std::string> structures();
bool is_structure(const Spec& layout);
// The layout's spec without keys of its own sparsifier, such as fit in "nmg:n=1,m=4,g=4,fit=x".
Spec layout_alone(const Spec& layout);
// Replaces the name of a structure's own sparsifier by the structure's name, if they differ.
Spec as_structure(const Spec& given);
// Replaces "block", the name in --structure, by "block-magnitude". Returns other specs unchanged.
Spec as_sparsifier(const Spec& given);
// The checked spec of a layout's own sparsifier, with keys in canonical order. Error (usage), also
// if the layout has none.
Spec own_sparsifier(const Spec& layout);
// The layout that stores exactly the sparsifier's selections, in canonical order; no value for
// sparsifiers that are not a layout's own.
std::optional<Spec> own_layout(const Spec& sparsifier);
// The axis of an n:m, n:m:g or nmgv spec, or its default: 0 along columns, 1 along rows. No value
// for other specs.
std::optional<Index> axis_of(const Spec& spec);
// The spec for the transposed matrix: exchanges the axis, and the height and width of tiles and
// blocks. structure: a layout or sparsifier.
Spec transposed_structure(Spec structure);

// Whether the layout can hold every selection of the sparsifier, judged by the specs; false for
// structures that may be too narrow.
bool holds(const Spec& layout, const Spec& sparsifier);

// Whether parameters of the sparsifier, or of a structure's own sparsifier, determine the share
// that stays, instead of a `sparsity` or `fraction`.
bool has_share(const Spec& sparsifier);
// Whether the sparsifier keeps the largest magnitudes, so that other ranks can replace magnitudes.
bool ranks_magnitudes(const Spec& sparsifier);
// The share that the sparsifier prunes, if its spec determines it.
std::optional<double> sparsity_of(const Spec& sparsifier);
// The key of the share in the sparsifier's specs: "sparsity" or "fraction".
std::string sparsity_key_of(const std::string& sparsifier);

}  // namespace sten
