// SPDX-License-Identifier: Apache-2.0
// Random shapes, layouts and sparsifiers on which the laws are tested.
#pragma once
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "libsten/core/registry/structure.h"
#include "tests/support/parts.h"

namespace sten::testing {

// Number of shapes per law: STEN_LAWS_SHAPES, or `few`.
inline int shapes_to_try(int few) {
  const char* n = std::getenv("STEN_LAWS_SHAPES");
  return n ? std::atoi(n) : few;
}

// The built-in sparsifiers; tests name their own ones user-....
inline std::vector<Registry::Example> builtin_sparsifiers() {
  std::vector<Registry::Example> all = registry().sparsifiers();
  std::erase_if(all, [](const auto& e) { return e.name.starts_with("user-"); });
  return all;
}

// Rank 2 to 4, with ragged, empty and single extents, at most 4096 elements.
inline Shape random_shape(Dice& dice) {
  static const std::vector<Index> extents{0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 40, 65};
  for (;;) {
    Shape shape(2 + dice.below(3));
    for (Index& e : shape) e = dice.one_of(extents);
    if (size_of(shape) <= 4096) return shape;
  }
}

// The example of a registered layout or sparsifier, with another axis or other block sizes if it
// accepts them. knows(spec): whether a spec is accepted.
template <class F>
Spec vary(Dice& dice, const Spec& example, const Shape& shape, F&& knows) {
  Spec spec = example;
  const auto try_key = [&](std::string_view key, const std::string& value) {
    const Spec changed = Spec(spec).set(key, value);
    if (knows(changed)) spec = changed;
  };
  if (dice.below(2)) try_key("axis", std::to_string(dice.below(2)));
  const auto rank = static_cast<Index>(shape.size());
  const Index row = dice.below(rank), col = (row + 1 + dice.below(rank - 1)) % rank;
  if (dice.below(2)) try_key("dims", fmt::format("{}.{}", row, col));
  return spec;
}

inline Spec vary_layout(Dice& dice, const Spec& example, const Shape& shape) {
  return vary(dice, example, shape,
              [](const Spec& s) { return error_of([&] { registry().check_layout(s); }).empty(); });
}
inline Spec vary_sparsifier(Dice& dice, const Spec& example, const Shape& shape) {
  return vary(dice, example, shape,
              [](const Spec& s) { return error_of([&] { registry().sparsifier(s); }).empty(); });
}

// The own sparsifier of a structured layout; none for other layouts.
inline std::optional<Sparsifier> chooser_for(const Spec& layout) {
  if (!is_structure(layout)) return std::nullopt;
  return registry().sparsifier(own_sparsifier(layout));
}

// Whether ell refuses the mask because a row is much longer than the others.
inline bool too_uneven(const Spec& layout, const Mask& m) {
  if (!layout.is("ell")) return false;
  const MatrixView v = MatrixView::of(m.extents, dims_of(layout));
  const Index lines = v.batches * v.rows;
  Index longest = 0;
  for (Index l = 0; l < lines; ++l) {
    Index n = 0;
    for (Index c = 0; c < v.cols; ++c) n += m[v.row_offset(l) + c * v.col_stride];
    longest = std::max(longest, n);
  }
  return lines * longest > 4 * m.count() + lines;
}

// The mask that chooser_for() selects on random values.
inline std::optional<Mask> own_mask(Dice& dice, const Spec& layout, const Shape& shape) {
  const auto own = chooser_for(layout);
  if (!own) return std::nullopt;
  return own->select(any_bits(dice, dice.one_of(prunable_dtypes()), shape));
}

}  // namespace sten::testing
