// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al. 2021): checked calls, and cosines and sines.
#pragma once
#include <vector>

#include "libsten/compute/ops/common/check.h"

namespace sten {

// Operands and attributes of rotary; or with first = 1 those of its gradient, whose input 0 is the
// gradient of the output.
struct RotaryCall {
  const Dense &x, &positions, &frequencies;
  Index heads, batch = 0, tokens = 0;
  Index width = 0;   // of a head
  Index pairs = 0;   // rotated pairs of a head
  bool interleaved;  // pairs are (2 i, 2 i + 1), otherwise (i, i + pairs)
  double scale;

  // Error (usage) for invalid operands; the values of positions are not checked.
  RotaryCall(const char* op, const Call& call, std::size_t first);

  Index features() const { return heads * width; }
  Index first_of(Index pair) const { return interleaved ? 2 * pair : pair; }
  Index second_of(Index pair) const { return interleaved ? 2 * pair + 1 : pair + pairs; }
};

// Cosines and sines of the angles position * frequency, times `scale`: [positions, pairs]. Angles
// are in T; in float32, a product of float32 as in Hugging Face's transformers.
template <class T>
struct Rotations {
  Index pairs;
  std::vector<T> cos, sin;

  Rotations(std::span<const Index> positions, std::span<const T> frequencies, double scale);
};
extern template struct Rotations<float>;
extern template struct Rotations<double>;

}  // namespace sten
