// Pruning what is sparse already: nothing stays where nothing was stored.
#pragma once
#include <optional>

#include "libsten/io/checkpoint.h"

namespace sten {

// Where elements of the tensor `t` of `in`, which is x, may stay when `sparsifier` chooses: what it
// stores, or whole blocks that hold a nonzero. None where anything may: for a dense tensor, and a
// structure that keeps its share whatever is there.
std::optional<Mask> where_stored(const Checkpoint& in, const TensorInfo& t, const Dense& x,
                                 const Spec& sparsifier);

// What both keep; b is on the CPU.
Mask both(Mask a, const Mask& b);

// What the sparsifier, which ranks by scores and has a sparsity, keeps of the elements that are
// stored: as many as of all of them, if there are so many.
Mask select_stored(const Dense& x, const Dense& scores, const Mask& stored, Spec sparsifier);

}  // namespace sten
