// The exact fit of kernels/nmg_exact.h in plain loops.
#pragma once
#include "kernels/nmg_exact.h"

namespace sten::kernels {

const NmgExactTable* nmg_exact_reference();

// In 64 bits: for chunks whose values are too far apart for 32, under every table.
void nmg_exact_wide(const NmgFormat& format, const NmgStrips<float>& in, std::byte* scratch,
                    std::uint16_t* pattern_of);
void nmg_exact_wide(const NmgFormat& format, const NmgStrips<double>& in, std::byte* scratch,
                    std::uint16_t* pattern_of);

std::size_t nmg_exact_wide_scratch(const NmgFormat& format, std::int64_t rows, std::int64_t cols);

}  // namespace sten::kernels
