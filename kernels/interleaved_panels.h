// What models compute of panels of tokens in pairs of bfloat16 (kernels/interleaved.h): [(n + 1) / 2, lanes, 2]
// for n features, the partner of an odd last one being 0. lanes: panel_width or, of few tokens, narrow_panel_width
// (kernels/csr.h). Sums are float32, in an order that is the ISA's, every token's by itself. Panels are
// aligned as vectors are.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

struct InterleavedPanelsTable {
  // y = gamma[r] z[r] + beta[r] for the n > 0 features of each token, z having the mean 0 and the
  // deviation 1, eps being added to the variance. y may be x.
  void (*normalize)(const std::uint16_t* x, std::int64_t n, float eps, const float* gamma,
                    const float* beta, std::uint16_t* y);
  // y = a + b of n features. y may be a or b.
  void (*add)(const std::uint16_t* a, const std::uint16_t* b, std::int64_t n, std::uint16_t* y);
};

// The table of active_isa(). lanes: panel_width or narrow_panel_width.
const InterleavedPanelsTable& interleaved_panels(std::int64_t lanes = panel_width);
// nullptr unless has_isa(isa).
const InterleavedPanelsTable* interleaved_panels_for(Isa isa, std::int64_t lanes = panel_width);

}  // namespace sten::kernels
