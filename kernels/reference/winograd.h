// The reference kernels of kernels/winograd.h.
#pragma once
#include "kernels/winograd.h"

namespace sten::kernels {

const WinogradTable* winograd_reference();

}  // namespace sten::kernels
