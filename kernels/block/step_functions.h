// SPDX-License-Identifier: Apache-2.0
// The functions of a training step on a device besides gradients: optimizers, masks and norms. The
// rules of functions.h for pointers, streams and bits apply. Elements are float32 unless stated.
#pragma once
#include <cstdint>
#include <span>

#include "kernels/block/grid.h"
#include "kernels/functions.h"

namespace sten::kernels {

// n values of a weight and their gradients.
struct StepElements {
  float* w;
  std::int64_t n;
  const float* g;
  // Unless nullptr: the gradient is 0 where a bit is not set.
  const std::uint8_t* bits = nullptr;
  // Unless nullptr: value i has the gradient g[offsets[i] - 1], or 0 if offsets[i] is 0.
  const std::uint32_t* offsets = nullptr;
  // Unless nullptr: all gradients are multiplied by *scale.
  const float* scale = nullptr;
};

// Parameters of Sgd (libsten/training/optim/sgd.h).
struct SgdStep {
  float rate, decay, momentum;
  bool is_nesterov;
};

struct AdamWElements {
  StepElements x;
  AdamWStep step;
  float *m, *v;
};
struct SgdElements {
  StepElements x;
  SgdStep step;
  float* momentum;  // or nullptr
};

// n > 0 values; with `bits`, only the kept ones.
struct SquaredElements {
  const float* x;
  const std::uint8_t* bits;  // or nullptr
  std::int64_t n;
};

// sum += x.
struct AddedElements {
  float* sum;
  const float* x;
  std::int64_t n;
};

// mean += by (x - mean).
struct AveragedElements {
  float* mean;
  const float* x;
  std::int64_t n;
  float by;
};

// Functions of a span launch as few kernels as possible for all of its tensors. The span is host
// memory; outputs of one tensor do not overlap arrays of another.
struct StepFunctions {
  // FunctionsTable::adamw with fused multiply-adds wherever possible.
  void (*adamw)(std::span<const AdamWElements>, Stream);
  // SGD without fused multiply-adds.
  void (*sgd)(std::span<const SgdElements>, Stream);
  // Sums of squares of the ceil(n / squares_grain) segments of each tensor, in the order of
  // squared_norm() (libsten/training/optim/gradients.h). `sums` has one tensor after the other; those of
  // tensor k end before ends[k], which is written unless `ends` is nullptr.
  void (*squares)(std::span<const SquaredElements>, double* sums, std::int64_t* ends, Stream);
  // *norm = square root of the sum of `sums`, tensor by tensor up to ends[k]. *scale, unless
  // nullptr: the factor that reduces the norm to at most `clip`.
  void (*norm)(const double* sums, const std::int64_t* ends, std::int64_t tensors, double clip,
               double* norm, float* scale, Stream);
  void (*add)(std::span<const AddedElements>, Stream);
  void (*average)(std::span<const AveragedElements>, Stream);
  // g += by * w where the bit is not set.
  void (*pull)(float* g, const float* w, const std::uint8_t* bits, float by, std::int64_t n,
               Stream);
  // x[i] = i + 1.
  void (*number)(std::uint32_t* x, std::int64_t n, Stream);
  // offsets[numbers[i] - 1] = i + 1 if numbers[i] is not 0 and bit i is set; other elements keep
  // their value.
  void (*find)(const std::uint32_t* numbers, const std::uint8_t* bits, std::int64_t n,
               std::uint32_t* offsets, Stream);
  // y[i] = x[offsets[i] - 1] if offsets[i] is not 0 and the bit of that element is set, else 0.
  void (*collect)(const float* x, const std::uint8_t* bits, const std::uint32_t* offsets,
                  std::int64_t n, float* y, Stream);
};

// Number of elements per sum of squares.
inline constexpr std::int64_t squares_grain = std::int64_t{1} << 15;

}  // namespace sten::kernels
