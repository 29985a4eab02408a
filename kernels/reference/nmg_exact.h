// SPDX-License-Identifier: Apache-2.0
// The fit of kernels/nmg_exact.h in 64 bits, which all tables use for chunks whose range of values is
// too wide for 32 bits.
#pragma once
#include "kernels/nmg_exact.h"

namespace sten::kernels {

void nmg_exact_wide(const NmgFormat& format, const NmgStrips<float>& in, std::byte* scratch,
                    std::uint16_t* pattern_of);
void nmg_exact_wide(const NmgFormat& format, const NmgStrips<double>& in, std::byte* scratch,
                    std::uint16_t* pattern_of);

std::size_t nmg_exact_wide_scratch(const NmgFormat& format, std::int64_t rows, std::int64_t cols);

}  // namespace sten::kernels
