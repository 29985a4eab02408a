#pragma once
#include "kernels/bf16_few.h"

namespace sten::kernels {

const Bf16FewTable* bf16_few_reference();

}  // namespace sten::kernels
