#pragma once
#include "kernels/epilogue.h"

namespace sten::kernels {

Finish* finish_avx2();
Finish* finish_avx512();

}  // namespace sten::kernels
