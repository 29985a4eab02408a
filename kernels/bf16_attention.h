// SPDX-License-Identifier: Apache-2.0
// Attention of one head on interleaved bfloat16 (kernels/interleaved.h), with float32 scores and
// sums. A panel of queries has `lanes` tokens: panel_width, or narrow_panel_width for a small
// batch.
//
// The keys and values of a head are packed once for all queries, in an order that depends on the
// ISA. On matrix tiles, the weights of keys are rounded to bfloat16 before the product with the
// values, and the sum is divided by the sum of all weights at the end. The other tables compute in
// float32.
#pragma once
#include <cstdint>

#include "kernels/csr.h"
#include "kernels/isa.h"

namespace sten::kernels {

struct Bf16Attention {
  std::int64_t width, v_width;  // features of queries and keys, and of values
  std::int64_t keys;            // at least 1, at most the packed keys
  float scale;
  // Interleaved [width, lanes]. Features up to the next multiple of 32 are readable and 0.
  const std::uint16_t* q;
  const float *k, *v;        // packed by take_keys() and take_values()
  const std::uint8_t* seen;  // [keys], 0 for a hidden key; nullptr: all keys are visible
  std::uint16_t* y;          // [(v_width + 1) / 2, lanes, 2]
  float* memory;             // scratch, memory_size() floats
  // Added to the score of key j and query t: [j * bias_step + t], or [j] if bias_step is 1;
  // nullptr: no bias.
  const float* bias = nullptr;
  std::int64_t bias_step = panel_width;
  // Query t sees only keys j < before + t.
  std::int64_t before = std::int64_t{1} << 62;
  // As in kernels::Attention. Tables on matrix tiles do not support them.
  std::int64_t from = -(std::int64_t{1} << 62);
  float soft_cap = 0;
};

struct Bf16AttentionTable {
  // Floats of the packed keys and values of a head. Both are aligned to 64 bytes, as all memory
  // here.
  std::int64_t (*keys_size)(std::int64_t width, std::int64_t keys);
  std::int64_t (*values_size)(std::int64_t v_width, std::int64_t keys);
  // Packs keys or values that lie in panels: the pair with feature f of key j is at x[j /
  // panel_width * step + f / 2 * 2 * panel_width + j % panel_width * 2]. Panels are readable to
  // their ends; values beyond the last key are ignored.
  void (*take_keys)(const std::uint16_t* x, std::int64_t step, std::int64_t width,
                    std::int64_t keys, float* to);
  void (*take_values)(const std::uint16_t* x, std::int64_t step, std::int64_t v_width,
                      std::int64_t keys, float* to);
  std::int64_t (*memory_size)(const Bf16Attention& a);
  // Same formula as PanelsTable::attend (kernels/panels.h).
  void (*attend)(const Bf16Attention& a);
};

// The table for active_isa(). lanes: panel_width or narrow_panel_width.
const Bf16AttentionTable& bf16_attention(std::int64_t lanes = panel_width);
// Whether the table for active_isa() uses matrix tiles.
inline bool has_tile_attention() { return active_isa() == Isa::amx; }
// nullptr unless has_isa(isa).
const Bf16AttentionTable* bf16_attention_for(Isa isa, std::int64_t lanes = panel_width);

}  // namespace sten::kernels
