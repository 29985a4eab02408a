// Other positions for a weight in training.
#pragma once
#include "libsten/layout/masked.h"
#include "libsten/optim/parameter.h"

namespace sten {

// p with what `by` selects of its values, in `layout`; p may be in any layout with `values`. What
// is remembered of positions that are not selected becomes 0, state of others stays theirs.
// `scores` for a sparsifier that needs them.
void select_positions(Parameter& p, const Sparsifier& by, const Spec& layout,
                      const Dense* scores = nullptr);

namespace optim_detail {

// p.value and its state dense, in the weight's shape; what is not a number for each value (the
// count of steps) stays unchanged.
void make_dense(Parameter& p);
// For a p that is dense so: `had` are the positions that it had before.
void select_dense(Parameter& p, const Sparsifier& by, const Spec& layout, const Hints& hints);

}  // namespace optim_detail

}  // namespace sten
