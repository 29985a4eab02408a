// SPDX-License-Identifier: Apache-2.0
#include "kernels/bf16_attention.h"

#include "kernels/interleaved.h"
#include "kernels/panels.h"

namespace sten::kernels {
namespace {

template <Isa isa, std::int64_t lanes>
struct Bf16AttentionByFloats {
  using Size = std::int64_t;

  static Size panels(Size keys) { return (keys + panel_width - 1) / panel_width; }
  static Size size(Size width, Size keys) { return panels(keys) * width * panel_width; }
  static void take(const std::uint16_t* x, Size step, Size width, Size keys, float* to) {
    for (Size p = 0; p < panels(keys); ++p)
      interleaved_for(isa)->widen_features(x + p * step, 2 * panel_width, width, panel_width,
                                           to + p * width * panel_width, panel_width);
  }
  static Size scores_size() { return panel_width * lanes; }
  static Size memory_size(const Bf16Attention& a) {
    return scores_size() + (a.width + a.v_width) * lanes;
  }
  static void attend(const Bf16Attention& a) {
    float *scores = a.memory, *q = scores + scores_size(), *y = q + a.width * lanes;
    interleaved_for(isa)->widen_features(a.q, 2 * lanes, a.width, lanes, q, lanes);
    panels_for(isa, lanes)
        ->attend({a.width, a.v_width, a.keys, a.scale, q, a.k, a.v, a.width * panel_width,
                  a.v_width * panel_width, a.seen, y, scores, a.bias, a.bias_step, a.before, a.from,
                  a.soft_cap});
    interleaved_for(isa)->round_features(y, lanes, a.v_width, lanes, a.y, 2 * lanes);
  }

  static constexpr Bf16AttentionTable table{size, size, take, take, memory_size, attend};
};

template <Isa isa>
const Bf16AttentionTable* by_floats(std::int64_t lanes) {
  if (!has_isa(isa)) return nullptr;
  return lanes == narrow_panel_width ? &Bf16AttentionByFloats<isa, narrow_panel_width>::table
                                     : &Bf16AttentionByFloats<isa, panel_width>::table;
}

}  // namespace

const Bf16AttentionTable* bf16_attention_reference(std::int64_t lanes) {
  return by_floats<Isa::reference>(lanes);
}
// ISAs without tiles run the reference with their own float32 kernels.
const Bf16AttentionTable* bf16_attention_avx2(std::int64_t lanes) {
  return by_floats<Isa::avx2>(lanes);
}
const Bf16AttentionTable* bf16_attention_avx512(std::int64_t lanes) {
  return by_floats<Isa::avx512>(lanes);
}

}  // namespace sten::kernels
