// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/resparsify.h"

namespace sten {

const Sparsifier& Resparsify::own(const Hints& hints) {
  if (!hints.own) fail_usage("resparsify: the tensor has no own sparsifier");
  return *hints.own;
}

Mask Resparsify::select(const Dense& x, const Hints& hints) const {
  return own(hints).select(x, without_own(hints));
}

}  // namespace sten
