// The reference kernels of kernels/epilogue.h.
#pragma once
#include "kernels/epilogue.h"

namespace sten::kernels {

const EpilogueTable* epilogue_reference();

}  // namespace sten::kernels
