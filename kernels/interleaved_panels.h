// SPDX-License-Identifier: Apache-2.0
// Layer normalization and products on panels of interleaved bfloat16
// (kernels/interleaved.h): [(n + 1) / 2, lanes, 2] for n features; the partner of an odd last
// feature is 0. lanes: panel_width, or narrow_panel_width for a small batch (kernels/csr.h). Each
// token is summed separately in float32, in an order that depends on the ISA. Panels are aligned to
// vectors.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

struct InterleavedPanelsTable {
  // y = gamma[r] z[r] + beta[r] for the n > 0 features of each token, where z has mean 0 and
  // deviation 1, with eps added to the variance. y can be x.
  void (*normalize)(const std::uint16_t* x, std::int64_t n, float eps, const float* gamma,
                    const float* beta, std::uint16_t* y);
  // C = A * B for the features B [depth, lanes] of x from `first` on. A [rows, depth] with row
  // stride lda, C [rows, lanes]. Each element is summed in the order of the features.
  void (*multiply)(const float* a, std::int64_t lda, std::int64_t rows, const std::uint16_t* x,
                   std::int64_t first, std::int64_t depth, float* c);
};

// The table for active_isa(). lanes: panel_width or narrow_panel_width.
const InterleavedPanelsTable& interleaved_panels(std::int64_t lanes = panel_width);
// nullptr unless has_isa(isa).
const InterleavedPanelsTable* interleaved_panels_for(Isa isa, std::int64_t lanes = panel_width);

}  // namespace sten::kernels
