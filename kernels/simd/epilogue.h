// The tables of kernels/epilogue.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/epilogue.h"

namespace sten::kernels {

const EpilogueTable* epilogue_avx2();
const EpilogueTable* epilogue_avx512();

}  // namespace sten::kernels
