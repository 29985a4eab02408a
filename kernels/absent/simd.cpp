// Stands in for simd/ where the compiler does not build for x86-64.
#include "kernels/simd/cpu.h"
#include "kernels/simd/csr.h"
#include "kernels/simd/elementwise.h"
#include "kernels/simd/epilogue.h"
#include "kernels/simd/functions.h"
#include "kernels/simd/nm_select.h"
#include "kernels/simd/nmg_exact.h"
#include "kernels/simd/nmg_gemm.h"
#include "kernels/simd/nmg_lanes.h"
#include "kernels/simd/peak.h"
#include "kernels/simd/rows.h"

namespace sten::kernels {

bool cpu_runs_avx2() { return false; }
bool cpu_runs_avx512() { return false; }

const ElementwiseTable* elementwise_avx2() { return nullptr; }
const ElementwiseTable* elementwise_avx512() { return nullptr; }

const NmSelectTable* nm_select_avx2() { return nullptr; }
const NmSelectTable* nm_select_avx512() { return nullptr; }

const NmgExactTable* nmg_exact_avx2() { return nullptr; }
const NmgExactTable* nmg_exact_avx512() { return nullptr; }

const CsrTable* csr_gemm_avx2() { return nullptr; }
const CsrTable* csr_gemm_avx512() { return nullptr; }

const NmgGemmTable* nmg_gemm_avx2() { return nullptr; }
const NmgGemmTable* nmg_gemm_avx512() { return nullptr; }

const FunctionsTable* functions_avx2() { return nullptr; }
const FunctionsTable* functions_avx512() { return nullptr; }

const RowsTable* rows_avx2() { return nullptr; }
const RowsTable* rows_avx512() { return nullptr; }

Finish* finish_avx2() { return nullptr; }
Finish* finish_avx512() { return nullptr; }

NmgLanesRun* nmg_lanes_avx2() { return nullptr; }
NmgLanesRun* nmg_lanes_avx512() { return nullptr; }

double run_fmas_avx2(std::int64_t) { return 0; }
double run_fmas_avx512(std::int64_t) { return 0; }

}  // namespace sten::kernels
