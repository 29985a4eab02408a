// SPDX-License-Identifier: Apache-2.0
// Selection of new positions of a weight in training.
#pragma once
#include "libsten/core/layout/masked.h"
#include "libsten/training/optim/parameter.h"

namespace sten {

// Replaces the positions of p by the selection of `by` from its values, in `layout`. The state of
// pruned positions becomes 0; the state of kept ones stays. scores: for a sparsifier that needs
// them.
void select_positions(Parameter& p, const Sparsifier& by, const Spec& layout,
                      const Dense* scores = nullptr);

namespace optim_detail {

// Makes p.value and its state dense, in the weight's shape. State that is not per element, such as
// the step count, stays unchanged.
void make_dense(Parameter& p);
// Selects new positions of a p after make_dense(). Hints::pattern: its previous positions.
void select_dense(Parameter& p, const Sparsifier& by, const Spec& layout, const Hints& hints);

}  // namespace optim_detail

}  // namespace sten
