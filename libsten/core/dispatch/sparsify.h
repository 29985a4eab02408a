// SPDX-License-Identifier: Apache-2.0
// Application of a sparsifier to a tensor of any layout.
#pragma once
#include <memory>
#include <string>

#include "libsten/core/dispatch/signature.h"
#include "libsten/core/registry/registry.h"

namespace sten {

struct SparsifyPlan {
  union {
    DispatchKind kind = DispatchKind::exact;
    DispatchKind way;  // deprecated: kind
  };
  Spec in, out;      // layouts of the implementation; of the dense kind: dense and the result's
  double cost = 0;   // of conversions, as for operators
  std::string text;  // one line: the decision, and the reason of a fallback
  // A sparse tensor is densified although the sparsifier does not require it. Reported when the
  // plan runs.
  bool is_fallback = false;
  std::shared_ptr<const SparsifierImplementation> run;  // nullptr: a conversion or the dense kind
};

// The plan of sparsify() for a tensor of layout `from`. Tries in this order: an implementation for
// the two layouts; the implementation reached by the cheapest lossless conversions while the input
// stays sparse; selection from the dense form. Tensors with dense values need no conversion. Needs
// no tensors.
SparsifyPlan plan_sparsify(const Sparsifier& s, const Spec& from, const Spec& to,
                           Device device = Device::cpu);

bool is_keep_all(const Sparsifier& s);
// KeepAll, made once: the default of all formats; a training step makes hundreds of them.
const Sparsifier& keeping_all();

// Returns the stored positions of x that s keeps, in `layout`. keep-all is a lossless conversion.
// Other elements rank as 0.
Tensor sparsify(const Tensor& x, const Sparsifier& s, const Spec& layout, const Hints& hints = {});

}  // namespace sten
