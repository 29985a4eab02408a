// SPDX-License-Identifier: Apache-2.0
// Token instructions of language models, on panels of float32 or of interleaved bfloat16, which are
// widened a panel at a time.
#pragma once
#include "libsten/model/execution/rotation_cache.h"
#include "libsten/model/execution/token_instructions.h"

namespace sten::execution {

// RMS norm of runs of factors.size() features; y may be x if both are interleaved or neither is.
struct RmsNormInstruction final : TokenInstruction {
  std::vector<float> factors;
  float eps = 0;
  std::size_t x = 0, y = 0;
  Index features = 0;
  bool from_interleaved = false, interleaved = false;  // x, y
  void run(const TokenGroup& group) const override;
};

// Rotary position embedding of heads of `width` features; y may be x.
struct RotaryInstruction final : TokenInstruction {
  Index width = 0;                     // of a head
  bool pairs_neighbours = false;       // pairs (2 i, 2 i + 1); otherwise (i, i + pairs)
  const RotationPanels* by = nullptr;  // set before each run
  std::size_t x = 0, y = 0;
  Index features = 0;
  bool interleaved = false;
  void run(const TokenGroup& group) const override;
};

// y = a * b, elementwise; y may be a or b.
struct MultiplyInstruction final : TokenInstruction {
  std::size_t a = 0, b = 0, y = 0;
  Index features = 0;
  bool interleaved = false;
  void run(const TokenGroup& group) const override;
};

// y = features [begin, begin + count) of x. If interleaved, both are even.
struct SliceInstruction final : TokenInstruction {
  std::size_t x = 0, y = 0;
  Index features = 0, begin = 0, count = 0;
  bool interleaved = false;
  void run(const TokenGroup& group) const override;
};

}  // namespace sten::execution
