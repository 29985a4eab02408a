// SPDX-License-Identifier: Apache-2.0
// Sums of sten-energy over the elements of a tensor.
#pragma once
#include "libsten/core/layout/entries.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/programs/measure/layout_bytes.h"
#include "libsten/programs/measure/measure.h"

namespace sten {

struct Sums {
  Index elements = 0, nnz = 0, zeros = 0, bytes = 0;
  LayoutBytes as = LayoutBytes(registry().layouts().size(), Index{0});
  Magnitudes original;  // kept: at the positions that the pruned tensor keeps
  WideSum l1;           // of the pruned tensor
  bool changed = false;

  // Saturates at the largest 64-bit value.
  void add(const Sums& s);
};

// All elements of a tensor, or only the stored ones if the dense form would be far larger.
struct Weights {
  std::optional<Entries> entries;
  Dense dense;        // empty if there are entries
  Positions nonzero;  // nonzero as numbers: without -0.0
  Positions stored;

  explicit Weights(const Tensor& t);
  // All elements that may be nonzero.
  Dense elements() const { return entries ? Dense{{entries->size()}, entries->values} : dense; }
};

// Measures a tensor without an original.
Sums measure(const CheckpointTensor& info, const Tensor& t, const Weights& w,
             const std::vector<Pattern>& held, Device device);

// The number of zeros after pruning the fraction x of n elements, rounded.
Index zeros_of(double x, Index n);
// The least number of zeros for --min-sparsity x. A tensor with one of the structures at that
// sparsity needs no more zeros than it has, since blocks at its edges keep a larger share.
Index zeros_asked(double x, const Sums& s, const std::vector<Spec>& structures);

// Adds the magnitudes of the tensor's original in `against`. Error if `against` has no such tensor.
void compare(Sums& s, const Checkpoint& in, const Checkpoint& against, const CheckpointTensor& t,
             const Tensor& tensor, const Weights& w, Device device);

}  // namespace sten
