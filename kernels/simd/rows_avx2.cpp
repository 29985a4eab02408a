// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include "kernels/rows.h"
#include "kernels/simd/floats8.h"
#include "kernels/simd/rows_loops.h"

namespace sten::kernels {

const RowsTable* rows_avx2() { return &table_of<simd::Rows<simd::Floats8>>; }

}  // namespace sten::kernels
