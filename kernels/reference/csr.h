// The formula of kernels/csr.h.
#pragma once
#include "kernels/csr.h"

namespace sten::kernels {

CsrPanel csr_panel_reference;

}  // namespace sten::kernels
