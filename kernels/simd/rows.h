// The tables of kernels/rows.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/rows.h"

namespace sten::kernels {

const RowsTable* rows_avx2();
const RowsTable* rows_avx512();

}  // namespace sten::kernels
