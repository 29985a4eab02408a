// SPDX-License-Identifier: Apache-2.0
// Deprecated name of NmMagnitude (libsten/core/sparsify/nm_magnitude.h).
#pragma once
#include "libsten/core/sparsify/nm_magnitude.h"

namespace sten {

using PerBlock [[deprecated("NmMagnitude")]] = NmMagnitude;

}  // namespace sten
