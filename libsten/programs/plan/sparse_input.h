// SPDX-License-Identifier: Apache-2.0
// Pruning of sparse tensors: only stored positions can be kept.
#pragma once
#include <optional>

#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {

// Returns the positions of x, the tensor `t` of `in`, that `sparsifier` may keep: stored positions,
// or whole blocks that hold a nonzero. Returns none for no restriction: for a dense tensor, and for
// a structure that keeps a fixed share.
std::optional<Mask> where_stored(const Checkpoint& in, const TensorInfo& t, const Dense& x,
                                 const Spec& sparsifier);

// The intersection of two masks; b is on the CPU.
Mask both(Mask a, const Mask& b);

// Selects among stored positions by scores, nonzeros before zeros. Keeps as many elements as the
// sparsifier would keep of the whole tensor, or all stored ones if there are fewer.
Mask select_stored(const Dense& x, const Dense& scores, const Mask& stored, const Spec& sparsifier);

// Scores of movement with -infinity at the zeros of x, which then rank below all nonzeros: F64 if
// `scores` are, else F32.
Dense scores_by_nonzeros(const Dense& x, const Dense& scores);

}  // namespace sten
