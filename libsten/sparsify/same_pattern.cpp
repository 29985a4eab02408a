#include "libsten/sparsify/same_pattern.h"

namespace sten {

Mask SamePattern::select(const Dense& x, const Hints& hints) const {
  if (!hints.pattern) fail_usage("same-pattern needs the pattern that the tensor had");
  check_same_shape(x, *hints.pattern);
  return *hints.pattern;
}

}  // namespace sten
