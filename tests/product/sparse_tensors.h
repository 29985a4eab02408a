// SPDX-License-Identifier: Apache-2.0
// Tensors in every layout that has products.
#pragma once
#include <string>
#include <vector>

#include "libsten/core/registry/registry.h"
#include "tests/support/tensors.h"

namespace sten::testing {

inline const std::vector<std::string> sparse_specs{"bitmask",
                                                   "coo",
                                                   "csc",
                                                   "csr",
                                                   "ell",
                                                   "masked",
                                                   "bcsr:h=1,w=1",
                                                   "bcsr:h=4,w=4",
                                                   "bcsr:h=3,w=5",
                                                   "bcsr:h=16,w=2",
                                                   "bcsr:h=2,w=140",
                                                   "bcsr:h=300,w=7",
                                                   "nm:n=2,m=4",
                                                   "nm:n=1,m=10",
                                                   "nm:n=3,m=70",
                                                   "nm:n=2,m=4,axis=0",
                                                   "nm:n=1,m=10,axis=0",
                                                   "nm:n=4,m=4,axis=0",
                                                   "nm:n=6,m=7,axis=0",
                                                   "nm:n=4,m=16,axis=0",
                                                   "nmg:n=1,m=4,g=3",
                                                   "nmg:n=2,m=4,g=1",
                                                   "nmg:n=2,m=4,g=2,axis=1",
                                                   "nmgv:n=1,m=4,g=2,v=16",
                                                   "nmgv:n=2,m=3,g=1,v=3,w=1,axis=1"};

// x in a layout. Except for n:m and n:m:g, a random part of the elements is kept.
inline Tensor sparse_tensor(Dice& dice, const Dense& x, const Spec& spec) {
  if (spec.is("nm")) {
    Spec selected("nm");
    for (const auto& [key, value] : spec.args()) selected.set(key, value);
    return registry().prune(x, selected, spec);
  }
  if (spec.is("nmg") || spec.is("nmgv")) return registry().prune(x, spec, spec);
  const double keep = dice.one_of(std::vector<double>{0, 0.02, 0.1, 0.5, 1});
  const Mask mask = random_mask(dice, x.extents, keep);
  // ell refuses rows that are too unequal.
  return registry().pack(x, spec.is("ell") ? Mask::all(x.extents) : mask, spec);
}

}  // namespace sten::testing
