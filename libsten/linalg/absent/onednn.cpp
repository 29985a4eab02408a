// Stands in where oneDNN was not there at build time.
#include "libsten/linalg/dense_library.h"

namespace sten {

std::optional<DenseLibrary> load_onednn() { return std::nullopt; }

}  // namespace sten
