// The reference kernels of kernels/nm_select.h.
#pragma once
#include "kernels/nm_select.h"

namespace sten::kernels {

const NmSelectTable* nm_select_reference();

}  // namespace sten::kernels
