// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/bf16_instructions.h"

#include "kernels/interleaved_panels.h"
#include "libsten/core/base/scratch.h"
#include "libsten/core/layout/masked.h"
#include "libsten/model/execution/interleaved_rows.h"

namespace sten::execution {
namespace {

const float* numbers_of(const Tensor& t) { return t.values()->as<float>().data(); }

}  // namespace

Bf16ProductInstruction::Bf16ProductInstruction(const Tensor& w, const Bf16ProductImpl& impl)
    : ProductInstruction(w.is<Masked>() ? Tensor(w.to_dense()) : w), multiply_(impl.pack(weight)) {}

void Bf16ProductInstruction::run(const TokenGroup& g) const {
  const Index tokens = g.interleaved_tokens();
  const Interleaved from{in(), tokens, g.interleaved(x)};
  const float* const shift = bias ? numbers_of(*bias) : nullptr;
  if (to_floats)
    multiply_.to_floats(from, {g.layout(), out(), tokens, g.at[y]},
                        {1, shift, residual ? g.at[*residual] : nullptr, activation, stream});
  else
    multiply_.to_interleaved(from, {out(), tokens, g.interleaved(y)},
                             {1, shift, residual ? g.interleaved(*residual) : nullptr, activation});
}

void Bf16NormalizeInstruction::run(const TokenGroup& g) const {
  const float *scale = numbers_of(gamma), *shift = numbers_of(beta);
  each_panel(g.count, [&](Index p, Index) {
    const std::uint16_t* from = interleaved_panel(g, x, features, p);
    std::uint16_t* to = interleaved_panel(g, y, features, p);
    if (g.lanes > 1) {
      kernels::interleaved_panels(g.lanes).normalize(from, features, eps, scale, shift, to);
      clear_padding(to, features, g.lanes);
      return;
    }
    thread_local Scratch memory;
    float* wide = memory.of(features);
    widen_panel(from, features, 1, wide);
    normalize_panel(wide, features, 1, eps, scale, shift, wide);
    round_panel(wide, features, 1, to);
  });
}

void RoundedNormalizeInstruction::run(const TokenGroup& g) const {
  const float *scale = numbers_of(gamma), *shift = numbers_of(beta);
  const Index size = features * g.lanes;
  each_panel(g.count, [&](Index p, Index) {
    thread_local Scratch memory;
    float* wide = memory.of(size);
    normalize_panel(g.at[x] + p * size, features, g.lanes, eps, scale, shift, wide);
    round_panel(wide, features, g.lanes, interleaved_panel(g, y, features, p));
  });
}

void Bf16MapInstruction::run(const TokenGroup& g) const {
  each_panel(g.count, [&](Index p, Index) {
    const std::uint16_t* from = interleaved_panel(g, x, features, p);
    std::uint16_t* to = interleaved_panel(g, y, features, p);
    alignas(64) float wide[most_widened * panel_width];
    const Index at_once = std::ssize(wide) / g.lanes;
    for (Index at = 0; at < features; at += at_once) {
      const Index count = std::min(at_once, features - at);
      kernels::interleaved().widen_features(from + at * g.lanes, 2 * g.lanes, count, g.lanes, wide,
                                            g.lanes);
      f(wide, count * g.lanes, wide);
      kernels::interleaved().round_features(wide, g.lanes, count, g.lanes, to + at * g.lanes,
                                            2 * g.lanes);
    }
    clear_padding(to, features, g.lanes);
  });
}

void WidenInstruction::run(const TokenGroup& g) const {
  each_panel(g.count, [&](Index p, Index) {
    widen_panel(interleaved_panel(g, x, features, p), features, g.lanes,
                g.at[y] + p * features * g.lanes);
  });
}

void RoundInstruction::run(const TokenGroup& g) const {
  each_panel(g.count, [&](Index p, Index) {
    round_panel(g.at[x] + p * features * g.lanes, features, g.lanes,
                interleaved_panel(g, y, features, p));
  });
}

}  // namespace sten::execution
