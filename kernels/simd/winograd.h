// The tables of kernels/winograd.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/winograd.h"

namespace sten::kernels {

const WinogradTable* winograd_avx2();
const WinogradTable* winograd_avx512();

}  // namespace sten::kernels
