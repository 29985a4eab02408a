// What sten-energy sums of each tensor.
#pragma once
#include "libsten/io/checkpoint.h"
#include "libsten/layout/entries.h"
#include "libsten/run/layout_bytes.h"
#include "libsten/run/measure.h"

namespace sten {

struct Sums {
  Index elements = 0, nnz = 0, zeros = 0, bytes = 0;
  LayoutBytes as = LayoutBytes(registry().layouts().size(), Index{0});
  Magnitudes original;  // kept: at the positions the pruned tensor keeps
  WideSum l1;           // of the pruned tensor
  bool changed = false;

  // Stays at the most that 64 bits hold.
  void add(const Sums& s);
};

// A tensor as it is looked at: all its elements, or what it stores where those would be far more.
struct Weights {
  std::optional<Entries> entries;
  Dense dense;        // without entries
  Positions nonzero;  // as numbers: -0.0 is not among them
  Positions stored;

  explicit Weights(const Tensor& t);
  // All that may be other than 0.
  Dense elements() const { return entries ? Dense{{entries->size()}, entries->values} : dense; }
};

// Without those of an original.
Sums measure(const CheckpointTensor& info, const Tensor& t, const Weights& w,
             const std::vector<Pattern>& held, Device device);

// The zeros that pruning the fraction x of n elements makes: a whole number of them.
Index zeros_of(double x, Index n);
// The fewest that --min-sparsity x asks of a tensor: no more than it has where it has one of the
// structures at such a sparsity, whose blocks at the edges keep a larger share.
Index zeros_asked(double x, const Sums& s, const std::vector<Spec>& structures);

// Adds what `against` has of the tensor `t` of `in`: Error where it has no such tensor.
void compare(Sums& s, const Checkpoint& in, const Checkpoint& against, const CheckpointTensor& t,
             const Tensor& tensor, const Weights& w, Device device);

}  // namespace sten
