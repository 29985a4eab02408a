// SPDX-License-Identifier: Apache-2.0
// Replacement without OpenBLAS, if it was not found at build time.
#include "libsten/compute/linalg/cholesky.h"

namespace sten {

const linalg_detail::Lapack* linalg_detail::lapack() { return nullptr; }

}  // namespace sten
