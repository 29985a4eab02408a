// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/rows.h"
#include "kernels/simd/floats16.h"
#include "kernels/simd/rows_loops.h"

namespace sten::kernels {

const RowsTable* rows_avx512() { return &table_of<simd::Rows<simd::Floats16>>; }

}  // namespace sten::kernels
