// Replaces kernels/simd/ if the compiler does not target x86-64.
#include "kernels/simd/bf16_attention.h"
#include "kernels/simd/bf16_small_batch.h"
#include "kernels/simd/channels.h"
#include "kernels/simd/csr.h"
#include "kernels/simd/elementwise.h"
#include "kernels/simd/epilogue.h"
#include "kernels/simd/functions.h"
#include "kernels/simd/interleaved.h"
#include "kernels/simd/interleaved_panels.h"
#include "kernels/simd/nm_sample.h"
#include "kernels/simd/nm_select.h"
#include "kernels/simd/nmg_exact.h"
#include "kernels/simd/nmg_gemm.h"
#include "kernels/simd/nmg_lanes.h"
#include "kernels/simd/panels.h"
#include "kernels/simd/peak.h"
#include "kernels/simd/rows.h"
#include "kernels/simd/target.h"
#include "kernels/simd/tiles.h"
#include "kernels/simd/winograd.h"

namespace sten::kernels {

bool cpu_runs(const char* target) { return *target == '\0'; }

const Bf16SmallBatchTable* bf16_small_batch_avx2() { return nullptr; }
const Bf16SmallBatchTable* bf16_small_batch_avx512() { return nullptr; }
const Bf16SmallBatchTable* bf16_small_batch_avx512_vbmi2() { return nullptr; }
const Bf16SmallBatchTable* bf16_small_batch_amx() { return nullptr; }

const ChannelsTable* channels_avx2() { return nullptr; }
const ChannelsTable* channels_avx512() { return nullptr; }

const CsrTable* csr_gemm_avx2() { return nullptr; }
const CsrTable* csr_gemm_avx512() { return nullptr; }

const ElementwiseTable* elementwise_avx2() { return nullptr; }
const ElementwiseTable* elementwise_avx512() { return nullptr; }
const ElementwiseTable* elementwise_avx512_vbmi2() { return nullptr; }

const EpilogueTable* epilogue_avx2() { return nullptr; }
const EpilogueTable* epilogue_avx512() { return nullptr; }

const FunctionsTable* functions_avx2() { return nullptr; }
const FunctionsTable* functions_avx512() { return nullptr; }

const NmSampleTable* nm_sample_avx2() { return nullptr; }
const NmSampleTable* nm_sample_avx512() { return nullptr; }

const NmSelectTable* nm_select_avx2() { return nullptr; }
const NmSelectTable* nm_select_avx512() { return nullptr; }

const NmgExactTable* nmg_exact_avx2() { return nullptr; }
const NmgExactTable* nmg_exact_avx512() { return nullptr; }

const NmgGemmTable* nmg_gemm_avx2() { return nullptr; }
const NmgGemmTable* nmg_gemm_avx512() { return nullptr; }

const NmgLanesTable* nmg_lanes_avx2() { return nullptr; }
const NmgLanesTable* nmg_lanes_avx512() { return nullptr; }

const PeakTable* peak_avx2() { return nullptr; }
const PeakTable* peak_avx512() { return nullptr; }
const PeakTable* peak_avx512_bf16() { return nullptr; }
const PeakTable* peak_amx() { return nullptr; }

const InterleavedTable* interleaved_avx2() { return nullptr; }
const InterleavedTable* interleaved_avx512() { return nullptr; }
const InterleavedTable* interleaved_avx512_bf16() { return nullptr; }

const Bf16AttentionTable* bf16_attention_amx(std::int64_t) { return nullptr; }

const InterleavedPanelsTable* interleaved_panels_avx2(std::int64_t) { return nullptr; }
const InterleavedPanelsTable* interleaved_panels_avx512(std::int64_t) { return nullptr; }
const InterleavedPanelsTable* interleaved_panels_avx512_bf16(std::int64_t) { return nullptr; }

const PanelsTable* panels_avx2(std::int64_t) { return nullptr; }
const PanelsTable* panels_avx512(std::int64_t) { return nullptr; }
const RowsTable* rows_avx2() { return nullptr; }
const RowsTable* rows_avx512() { return nullptr; }

const TilesTable* tiles_avx2() { return nullptr; }
const TilesTable* tiles_avx512() { return nullptr; }
const TilesTable* tiles_avx512_bf16() { return nullptr; }
const TilesTable* tiles_amx() { return nullptr; }

const WinogradTable* winograd_avx2() { return nullptr; }
const WinogradTable* winograd_avx512() { return nullptr; }

}  // namespace sten::kernels
