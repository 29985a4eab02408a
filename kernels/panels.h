// What models compute of panels: tokens side by side, float32, panel_width of them or, of few tokens,
// narrow_panel_width (kernels/csr.h): the lanes of a table. Every token is summed up by itself, in an order that
// is the ISA's. Panels are aligned as vectors are.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

// One head's softmax(scale * q . k + bias) v for a panel of queries.
struct Attention {
  std::int64_t width, v_width;  // features of queries and keys, and of values
  std::int64_t keys;
  float scale;
  const float* q;  // [width, lanes]
  // Feature f of key j is at [j / panel_width * step + f * panel_width + j % panel_width], whatever
  // the lanes. Panels are whole; what is beyond the last key means nothing.
  const float *k, *v;
  std::int64_t k_step, v_step;
  const std::uint8_t* seen;  // [keys], 0 for a key that is hidden; nullptr: none is
  float* y;                  // [v_width, lanes]
  float* scores;             // [panel_width, lanes], to work in
  // For key j and query t at [j * bias_step + t], or at [j] where bias_step is 1; nullptr: none.
  const float* bias = nullptr;
  std::int64_t bias_step = panel_width;
  // Query t sees the keys before the (before + t)-th alone.
  std::int64_t before = std::int64_t{1} << 62;
};

struct PanelsTable {
  // Keys are taken a panel at a time; a later greatest score scales what was summed up before
  // (Milakov and Gimelshein 2018). At least one key is seen by a query; y is 0 of one that sees none.
  void (*attend)(const Attention& a);
  // y = gamma[r] z[r] + beta[r] for the n > 0 features of each token, z having the mean 0 and the
  // deviation 1, eps being added to the variance. y may be x.
  void (*normalize)(const float* x, std::int64_t n, float eps, const float* gamma,
                    const float* beta, float* y);
  // C[rows, lanes] = A * B, or with `more` C += A * B. A [rows, depth] has a row stride of lda, B is
  // [depth, lanes].
  void (*multiply)(const float* a, std::int64_t lda, std::int64_t rows, std::int64_t depth,
                   const float* b, bool more, float* c);
};

// The table of active_isa(). lanes: panel_width or narrow_panel_width.
const PanelsTable& panels(std::int64_t lanes = panel_width);
// nullptr unless has_isa(isa).
const PanelsTable* panels_for(Isa isa, std::int64_t lanes = panel_width);

}  // namespace sten::kernels
