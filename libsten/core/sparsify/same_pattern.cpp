// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/same_pattern.h"

namespace sten {

Mask SamePattern::select(const Dense& x, const Hints& hints) const {
  if (!hints.pattern) fail_usage("same-pattern: missing pattern of the tensor");
  Mask pattern = hints.pattern->to(x.device());
  check_same_shape(x, pattern);
  return pattern;
}

Mask SamePattern::select_stored(const Entries& x, const Hints& hints) const {
  if (!hints.pattern) fail_usage("same-pattern: missing pattern of the tensor");
  if (hints.pattern->extents != x.extents)
    fail_usage("a pattern of shape {} does not fit a tensor of shape {}",
               to_string(hints.pattern->extents), to_string(x.extents));
  Mask mask = Mask::none({x.size()});
  std::uint8_t* bits = mask.bits.mutate();
  for (Index k = 0; k < x.size(); ++k)
    if ((*hints.pattern)[x.at[k]]) set_bit(bits, k);
  return mask;
}

}  // namespace sten
