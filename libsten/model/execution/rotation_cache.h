// SPDX-License-Identifier: Apache-2.0
// Cosines and sines of rotary position embeddings in panels, shared by the layers of a model.
#pragma once
#include <deque>

#include "libsten/core/base/array.h"
#include "libsten/core/tensor/dense.h"

namespace sten::execution {

// cos and sin of the angles of `tokens` tokens, times the scale: [panels, pairs,
// lanes_of(tokens)]. Lanes without a token have the angle 0.
struct RotationPanels {
  Index tokens, pairs;
  double scale;
  Values positions, frequencies;  // of which they were computed
  Array<float> cos, sin;

  RotationPanels(const Dense& positions, const Dense& frequencies, double scale, Index tokens);
};

// The rotations of a run, each computed once.
class RotationCache {
 public:
  // Positions [T] or [B, T], I64 or I32, repeated for all tokens; frequencies [pairs] in F32. The
  // result stays valid until clear().
  const RotationPanels& of(const Dense& positions, const Dense& frequencies, double scale,
                           Index tokens);
  void clear() { all_.clear(); }

 private:
  std::deque<RotationPanels> all_;
};

}  // namespace sten::execution
