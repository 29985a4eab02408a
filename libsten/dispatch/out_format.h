// What becomes of an operator's output, in the paper's four parts (section 3.3).
#pragma once
#include <string>

#include "libsten/dispatch/sparsify.h"
#include "libsten/sparsify/streaming.h"

namespace sten {

// inline sparsifier -> temporary layout -> external sparsifier -> output layout. The operator
// applies the inline sparsifier to values as it computes them and writes what stays in the
// temporary layout; the external one sees all of that.
struct OutFormat {
  Sparsifier inline_by = keeping_all();
  Spec tmp{"dense"};
  Sparsifier external = keeping_all();
  Spec layout{"dense"};

  // Everything, dense.
  static const OutFormat& dense();
  // x's own positions in x's own layout, nothing else being computed if possible: for
  // gradients and updates of x. Dense for a dense x.
  static OutFormat same_as(const Tensor& x);
  // A sparsifier that runs inline, and the layout it writes.
  static OutFormat fused(Sparsifier by, const Spec& layout);
  // A sparsifier that sees the whole dense result, and the layout it is then packed into.
  static OutFormat after(Sparsifier by, const Spec& layout);

  bool is_dense() const;
  // Whether what is made of a sum is the sum of what is made of its terms: keep-all or same-pattern,
  // and nothing after it.
  bool is_additive() const;

  // "threshold:at=0.5 -> csr -> keep-all -> csr"
  std::string str() const;
};

// For each of an operator's outputs on a tape: its format and that of its gradient.
struct Formats {
  OutFormat out, grad;

  Formats(OutFormat out = {}, OutFormat grad = {}) : out(std::move(out)), grad(std::move(grad)) {}
  static const Formats& dense();
};

}  // namespace sten
