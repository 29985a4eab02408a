// What a device does in a step of training beside gradients: optimizers, masks and norms.
// What functions.h says of pointers, streams and bits holds here, too. All elements are floats unless
// said otherwise.
#pragma once
#include <cstdint>
#include <span>

#include "kernels/block/grid.h"
#include "kernels/functions.h"

namespace sten::kernels {

// n values of a weight, and their gradients.
struct StepElements {
  float* w;
  std::int64_t n;
  const float* g;
  // Where not nullptr: the gradient counts as 0 where a bit is not set, ...
  const std::uint8_t* bits = nullptr;
  // ... value i has the gradient g[offsets[i] - 1], or 0 where offsets[i] is 0, ...
  const std::uint32_t* offsets = nullptr;
  // ... and all count times *scale.
  const float* scale = nullptr;
};

// As Sgd (libsten/optim/sgd.h) has them.
struct SgdStep {
  float rate, decay, momentum;
  bool is_nesterov;
};

// A weight and what is remembered of it.
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

// n > 0 values, or those of them that bits keep.
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

// Functions of a span start as few kernels as may be for all of its tensors; the span is the host's, and
// what one tensor's pointers are to be written to is nothing of another's.
struct StepFunctions {
  // As FunctionsTable::adamw with a fused multiply-add wherever a sum may be taken so.
  void (*adamw)(std::span<const AdamWElements>, Stream);
  // Operation by operation.
  void (*sgd)(std::span<const SgdElements>, Stream);
  // Squares of ceil(n / squares_grain) pieces of each tensor, added up in the order of squared_norm()
  // (libsten/optim/gradients.h): sums of one tensor after the other, those of tensor k before ends[k],
  // which is written, too, unless it is nullptr.
  void (*squares)(std::span<const SquaredElements>, double* sums, std::int64_t* ends, Stream);
  // *norm: the root of the sum of the sums, those of each tensor k before ends[k] first. *scale, if
  // not nullptr: what the norm is to be multiplied by so that it is `clip` at most.
  void (*norm)(const double* sums, const std::int64_t* ends, std::int64_t tensors, double clip,
               double* norm, float* scale, Stream);
  void (*add)(std::span<const AddedElements>, Stream);
  void (*average)(std::span<const AveragedElements>, Stream);
  // g += by w where a bit is not set.
  void (*pull)(float* g, const float* w, const std::uint8_t* bits, float by, std::int64_t n,
               Stream);
  // x[i] = i + 1.
  void (*number)(std::uint32_t* x, std::int64_t n, Stream);
  // offsets[numbers[i] - 1] = i + 1 where numbers[i] is not 0 and bit i is set; others stay.
  void (*find)(const std::uint32_t* numbers, const std::uint8_t* bits, std::int64_t n,
               std::uint32_t* offsets, Stream);
  // y[i] = x[offsets[i] - 1] where offsets[i] is not 0 and the bit of that element is set, else 0.
  void (*collect)(const float* x, const std::uint8_t* bits, const std::uint32_t* offsets,
                  std::int64_t n, float* y, Stream);
};

// Elements whose squares are one sum.
inline constexpr std::int64_t squares_grain = std::int64_t{1} << 15;

}  // namespace sten::kernels
