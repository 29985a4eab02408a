// How a tensor is pruned: what the options and rules of sten-prune come to.
#pragma once
#include <optional>

#include "libsten/run/prune.h"
#include "libsten/run/rules.h"

namespace sten {

struct TensorPlan {
  Spec sparsifier;  // without a seed, which each tensor gets its own of; "" with a mask
  Spec to;
  bool global = false;        // in the union that has one threshold
  bool needs_scores = false;  // of a file beside the checkpoint
  bool by_gradient = false;   // a structure ranks |w * score| for |w|
  bool calibrated = false;    // by what goes into the layer
  bool by_row = false;        // each row loses the same share
  bool has_seed = false;      // in the sparsifier's spec
  std::string fit = {};       // which of several ways it fits values into the layout
};

// --structure, or what --to alone asks for. Error (usage), as all of these.
Spec structure_of(const PruneOptions& o);
// The layout that --to means for a sparsifier: a layout; "auto"; or one alone whose own sparsifier
// it is, nm, nmg, nmgv and bcsr, which takes its numbers.
Spec resolve_to(const std::string& text, const Spec& sparsifier);
// Whether pruning needs to know what goes into layers.
bool is_calibrated(const PruneOptions& o);
// Of the tensors that no rule decides.
TensorPlan default_plan(const PruneOptions& o, const Spec& structure);
// None for "keep".
std::optional<TensorPlan> plan_of_rule(const Rule& rule, const PruneOptions& o);

}  // namespace sten
