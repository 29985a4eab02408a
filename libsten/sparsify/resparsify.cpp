#include "libsten/sparsify/resparsify.h"

namespace sten {

Mask Resparsify::select(const Dense& x, const Hints& hints) const {
  if (!hints.own) fail_usage("resparsify needs the sparsifier that the tensor has");
  Hints rest = hints;
  rest.own = nullptr;
  return hints.own->select(x, rest);
}

}  // namespace sten
