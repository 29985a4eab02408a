// What a sparsifier keeps of a tensor in any layout.
#pragma once
#include <memory>
#include <string>

#include "libsten/dispatch/registry.h"
#include "libsten/dispatch/signature.h"

namespace sten {

// How a sparsifier is applied, as data.
struct SparsifyPlan {
  union {
    DispatchKind kind = DispatchKind::exact;
    DispatchKind way;  // deprecated: kind
  };
  Spec in, out;  // what the implementation takes and gives; of the dense way dense, and the result
  double cost = 0;   // of conversions, as those of operators
  std::string text;  // one line: what is done, and of a fallback what was missing
  // A sparse tensor is made dense, although the sparsifier could do without: reported when it is
  // carried out.
  bool is_fallback = false;
  std::shared_ptr<const SparsifierImplementation> run;  // none: a conversion, or the dense way
};

// What sparsify() does with a tensor in the layout `from`. In this order: an implementation for the
// two layouts; the one to which and from which lossless conversions cost the least, what is to be
// selected staying sparse; of the dense form. A tensor with dense values needs no conversion.
// Needs no tensors.
SparsifyPlan plan_sparsify(const Sparsifier& s, const Spec& from, const Spec& to,
                           Device device = Device::cpu);

bool is_keep_all(const Sparsifier& s);
// KeepAll, made once: what each format has by default, and a step of training has hundreds.
const Sparsifier& keeping_all();

// x with what s keeps of the positions it stores, in that layout: keep-all is a lossless
// conversion. What is not stored counts as 0 where s ranks.
Tensor sparsify(const Tensor& x, const Sparsifier& s, const Spec& layout, const Hints& hints = {});

}  // namespace sten
