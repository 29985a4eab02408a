// Replacement without oneDNN, if it was not found at build time.
#include "libsten/linalg/dense_library.h"

namespace sten {

std::optional<DenseLibrary> load_onednn() { return std::nullopt; }

}  // namespace sten
