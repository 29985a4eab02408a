// Replacement without OpenBLAS, if it was not found at build time.
#include "libsten/linalg/dense_library.h"

namespace sten {

std::optional<DenseLibrary> load_openblas() { return std::nullopt; }

}  // namespace sten
