// SPDX-License-Identifier: Apache-2.0
// Replacement without oneDNN, if it was not found at build time.
#include "libsten/compute/linalg/dense_library.h"

namespace sten {

std::optional<DenseLibrary> load_onednn() { return std::nullopt; }

}  // namespace sten
