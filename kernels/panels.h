// SPDX-License-Identifier: Apache-2.0
// Attention, layer normalization and products on panels of float32 tokens. The lanes of a table are
// panel_width tokens side by side, or narrow_panel_width for a small batch (kernels/csr.h). Each
// token is summed separately, in an order that depends on the ISA. Panels are aligned to vectors.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

// One head's softmax(cap(scale * q . k) + bias) v for a panel of queries.
struct Attention {
  std::int64_t width, v_width;  // features of queries and keys, and of values
  std::int64_t keys;
  float scale;
  const float* q;  // [width, lanes]
  // Feature f of key j is at [j / panel_width * step + f * panel_width + j % panel_width], for any
  // `lanes`. Panels are readable to their ends; values beyond the last key are ignored.
  const float *k, *v;
  std::int64_t k_step, v_step;
  const std::uint8_t* seen;  // [keys], 0 for a hidden key; nullptr: all keys are visible
  float* y;                  // [v_width, lanes]
  float* scores;             // scratch [panel_width, lanes]
  // Added to the score of key j and query t: [j * bias_step + t], or [j] if bias_step is 1;
  // nullptr: no bias.
  const float* bias = nullptr;
  std::int64_t bias_step = panel_width;
  // Query t sees only keys j < before + t.
  std::int64_t before = std::int64_t{1} << 62;
  // Query t sees only keys j >= from + t.
  std::int64_t from = -(std::int64_t{1} << 62);
  // c > 0: cap(s) = c tanh(s / c); otherwise cap(s) = s.
  float soft_cap = 0;
};

struct PanelsTable {
  // Attention over one panel of keys at a time; a later maximum of the scores rescales the sums
  // (Milakov and Gimelshein 2018). y is 0 for a query that sees no key, also because the bias of
  // all is -inf; without a bias, at least one query must see a key.
  void (*attend)(const Attention& a);
  // y = gamma[r] z[r] + beta[r] for the n > 0 features of each token, where z has mean 0 and
  // deviation 1, with eps added to the variance. y can be x.
  void (*normalize)(const float* x, std::int64_t n, float eps, const float* gamma,
                    const float* beta, float* y);
  // C = A * B, or C += A * B with `more`. A [rows, depth] with row stride lda, B [depth, lanes], C
  // [rows, lanes].
  void (*multiply)(const float* a, std::int64_t lda, std::int64_t rows, std::int64_t depth,
                   const float* b, bool more, float* c);
};

// The table for active_isa(). lanes: panel_width or narrow_panel_width.
const PanelsTable& panels(std::int64_t lanes = panel_width);
// nullptr unless has_isa(isa).
const PanelsTable* panels_for(Isa isa, std::int64_t lanes = panel_width);

}  // namespace sten::kernels
