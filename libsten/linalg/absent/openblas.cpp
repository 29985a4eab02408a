// Stands in where OpenBLAS was not there at build time.
#include "libsten/linalg/dense_library.h"

namespace sten {

std::optional<DenseLibrary> load_openblas() { return std::nullopt; }

}  // namespace sten
