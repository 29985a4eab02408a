// Products of compressed sparse rows with dense panels.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

// Row r is entries ptr[r] to ptr[r + 1].
struct CsrView {
  const std::int64_t* ptr;
  const std::int32_t* index;
  const float* values;
};

// Four vectors of AVX-512: a row's sums stay in registers, and a panel of 3072 rows in the second
// cache (786 KB).
inline constexpr std::int64_t panel_width = 64;

// C[begin:end, :] = A[begin:end, :] * B.   B [k, panel_width], C [m, panel_width] of row stride ldc
using CsrPanel = void(const CsrView& a, std::int64_t begin, std::int64_t end, const float* b,
                      float* c, std::int64_t ldc);

// nullptr where has_isa() says no.
CsrPanel* csr_panel_for(Isa isa);
// Of active_isa().
CsrPanel& csr_panel();

}  // namespace sten::kernels
