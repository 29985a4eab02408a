// One head's attention in pairs of bfloat16 (kernels/interleaved.h), with float32 scores and sums. lanes:
// panel_width queries or, of few, narrow_panel_width, side by side.
//
// Keys and values of a head are taken once, in a form of the ISA's own, for all of its queries. On
// matrix tiles the weights of keys are rounded to bfloat16 before they are multiplied with values,
// whose sum is divided by that of all weights in the end; elsewhere all is computed in float32.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

struct Bf16Attention {
  std::int64_t width, v_width;  // features of queries and keys, and of values
  std::int64_t keys;            // at most as many as were taken; at least one
  float scale;
  // [lanes of pairs]: features from width to the next multiple of 32 are there, and 0.
  const std::uint16_t* q;
  const float *k, *v;        // as take_keys() and take_values() left them
  const std::uint8_t* seen;  // [keys], 0 for a key that is hidden; nullptr: none is
  std::uint16_t* y;          // [(v_width + 1) / 2, lanes, 2]
  float* memory;             // memory_size() floats, to work in
  // For key j and query t at [j * bias_step + t], or at [j] where bias_step is 1; nullptr: none.
  const float* bias = nullptr;
  std::int64_t bias_step = panel_width;
  // Query t sees the keys before the (before + t)-th alone.
  std::int64_t before = std::int64_t{1} << 62;
};

struct Bf16AttentionTable {
  // Floats that the keys of a head take, and its values; both aligned to 64 bytes, as all memory is.
  std::int64_t (*keys_size)(std::int64_t width, std::int64_t keys);
  std::int64_t (*values_size)(std::int64_t v_width, std::int64_t keys);
  // Of keys in panels: the pair of feature f of key j is at x[j / panel_width * step + f / 2 * 2 *
  // panel_width + j % panel_width * 2]. Panels are whole; what is beyond the last key means nothing.
  void (*take_keys)(const std::uint16_t* x, std::int64_t step, std::int64_t width,
                    std::int64_t keys, float* to);
  void (*take_values)(const std::uint16_t* x, std::int64_t step, std::int64_t v_width,
                      std::int64_t keys, float* to);
  std::int64_t (*memory_size)(const Bf16Attention& a);
  // As PanelsTable::attend (kernels/panels.h).
  void (*attend)(const Bf16Attention& a);
};

// The table of active_isa(). lanes: panel_width or narrow_panel_width.
const Bf16AttentionTable& bf16_attention(std::int64_t lanes = panel_width);
// Whether it is one of matrix tiles.
bool has_tile_attention();
// nullptr unless has_isa(isa).
const Bf16AttentionTable* bf16_attention_for(Isa isa, std::int64_t lanes = panel_width);

}  // namespace sten::kernels
