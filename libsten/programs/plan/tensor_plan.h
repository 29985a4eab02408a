// SPDX-License-Identifier: Apache-2.0
// Tensor plan: how sten-prune prunes a tensor, by its options and rules.
#pragma once
#include <optional>

#include "libsten/programs/plan/tensor_options.h"
#include "libsten/programs/rewrite/rules.h"

namespace sten {

struct TensorPlan {
  Spec sparsifier;  // without a seed, which differs per tensor; "" with a mask
  Spec to;
  bool global = false;        // under the global threshold
  bool needs_scores = false;  // scores from a file
  bool by_gradient = false;   // a structure ranks |w * score| instead of |w|
  bool calibrated = false;    // by statistics of the layer's inputs
  bool by_row = false;        // same sparsity for each row
  bool has_seed = false;      // in the sparsifier's spec
  std::string fit = {};       // the algorithm that fits values to the layout
};

// The structure of --structure, or that of --to. Error (usage), as all functions here.
Spec structure_of(const TensorOptions& o);
// Resolves --to for a sparsifier: a layout; "auto"; or nm, nmg, nmgv or bcsr without parameters,
// which are those of the sparsifier.
Spec resolve_to(const Spec& to, const Spec& sparsifier);
// The plan of tensors without a rule.
TensorPlan default_plan(const TensorOptions& o, const Spec& structure);
// The plan of a rule; none for "keep".
std::optional<TensorPlan> plan_of_rule(const Rule& rule, const TensorOptions& o);

}  // namespace sten
