// SPDX-License-Identifier: Apache-2.0
// Conversion of interleaved panels.
#pragma once
#include "libsten/compute/product/interleaved.h"

namespace sten::execution {

// Interleaved rows that are widened to float32 at a time, to fit the L1 cache.
inline constexpr Index most_widened = 64;

// Converts rows of tokens to an interleaved panel, with 0 for missing tokens; and back.
void rows_to_interleaved(const float* rows, Index tokens, Index features, std::uint16_t* panel,
                         Index lanes);
void interleaved_to_rows(const std::uint16_t* panel, Index lanes, Index tokens, Index features,
                         float* rows);
// Converts a panel to float32 [features, lanes], exactly; and back, rounded.
void widen_panel(const std::uint16_t* panel, Index features, Index lanes, float* wide);
void round_panel(const float* wide, Index features, Index lanes, std::uint16_t* panel);
// Sets the features after the last one to 0.
void clear_padding(std::uint16_t* panel, Index features, Index lanes);

}  // namespace sten::execution
