// SPDX-License-Identifier: Apache-2.0
// Output format: how an operator's output is sparsified and stored (STen paper, section 3.3).
#pragma once
#include <string>

#include "libsten/core/dispatch/sparsify.h"
#include "libsten/core/sparsify/streaming.h"

namespace sten {

// Inline sparsifier -> temporary layout -> external sparsifier -> output layout. The operator
// applies the inline sparsifier while it computes, and writes the kept values in the temporary
// layout. The external sparsifier sees the whole temporary result.
struct OutFormat {
  Sparsifier inline_by = keeping_all();
  Spec tmp{"dense"};
  Sparsifier external = keeping_all();
  Spec layout{"dense"};

  // Keeps all values, dense.
  static const OutFormat& dense();
  // The positions and layout of x, for gradients and updates of x; other values are not computed
  // where possible. Dense if x is dense.
  static OutFormat same_as(const Tensor& x);
  // An inline sparsifier and the layout that it writes.
  static OutFormat fused(Sparsifier by, const Spec& layout);
  // An external sparsifier of the dense result, and the layout into which the selection is packed.
  static OutFormat after(Sparsifier by, const Spec& layout);

  bool is_dense() const;
  // Whether the inline sparsifier is same-pattern.
  bool is_same_pattern() const;
  // Whether format(a + b) = format(a) + format(b): keep-all or same-pattern, without an external
  // sparsifier.
  bool is_additive() const;

  // Returns "threshold:at=0.5 -> csr -> keep-all -> csr".
  std::string str() const;
};

// The formats of an output on a tape and of its gradient.
struct Formats {
  OutFormat out, grad;

  Formats(OutFormat out = {}, OutFormat grad = {}) : out(std::move(out)), grad(std::move(grad)) {}
  static const Formats& dense();
  bool are_dense() const { return out.is_dense() && grad.is_dense(); }
};

}  // namespace sten
