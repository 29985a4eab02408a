#pragma once
#include "kernels/epilogue.h"

namespace sten::kernels {

Finish* finish_reference();

}  // namespace sten::kernels
