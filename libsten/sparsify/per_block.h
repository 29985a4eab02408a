// Deprecated name of NmMagnitude (libsten/sparsify/nm_magnitude.h).
#pragma once
#include "libsten/sparsify/nm_magnitude.h"

namespace sten {

using PerBlock [[deprecated("NmMagnitude")]] = NmMagnitude;

}  // namespace sten
