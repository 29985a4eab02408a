// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of a device, and functions that move elements: unary and binary operators,
// sums over axes, strided copies. The rules of functions.h for pointers, streams and bits apply.
// Elements are float32 unless stated. Sums are accumulated in double, in an order that depends only
// on shapes.
#pragma once
#include "kernels/binary.h"
#include "kernels/block/grid.h"
#include "kernels/comparison.h"
#include "kernels/unary.h"

namespace sten::kernels {

// A truth is a byte; nonzero means true.
enum class ElementKind : std::uint8_t { f32, i64, truth };

// Axes of a strided walk over operands, the innermost axis first, with a step per operand. Step 0
// broadcasts.
inline constexpr int most_map_axes = 6, most_map_operands = 3;
struct MapAxis {
  std::int64_t extent = 1, steps[most_map_operands] = {};
};
struct MapAxes {
  int count = 1;  // > 0
  MapAxis at[most_map_axes];
};

// Extents of a tensor and which axes are summed, the outermost axis first.
inline constexpr int most_sum_axes = 12;
struct SumAxes {
  int count = 0;
  std::int64_t extents[most_sum_axes] = {};
  bool is_summed[most_sum_axes] = {};
};

struct MapFunctions {
  // y[rows, n] += b[n].
  void (*add_bias)(std::int64_t rows, std::int64_t n, const float* b, float* y, Stream);
  // to[n] = sum of the rows of x[rows, n].
  void (*sum_rows)(std::int64_t rows, std::int64_t n, const float* x, float* to, Stream);
  // to = sums of x over the summed axes, divided by count.
  void (*sum)(const SumAxes&, const float* x, double count, float* to, Stream);

  // y[i] = f(x[i]); y can be x.
  void (*map)(UnaryFunction, UnaryParameters<float>, std::int64_t n, const float* x, float* y,
              Stream);
  // dx[i] from dy[i] and saved[i], where saved is x or y, as the operator saves it. Any two arrays
  // can be the same.
  void (*map_grad)(UnaryFunction, UnaryParameters<float>, std::int64_t n, const float* dy,
                   const float* saved, float* dx, Stream);
  // Dropout: y[i] = by * x[i], or 0 if random number i of 53 bits (kernels/random.h) is less than
  // `dropped`. The stream depends on the seed and, unless draw is nullptr, on *draw.
  void (*drop)(std::uint64_t dropped, std::uint64_t seed, const std::int64_t* draw, float by,
               std::int64_t n, const float* x, float* y, Stream);

  // to[i] = f(a, b), contiguous in the order of the walk. Operand 0 is a, operand 1 is b. `to` can
  // be an operand in that order.
  void (*binary)(BinaryFunction, const MapAxes&, const float* a, const float* b, float* to, Stream);
  // Gradient of a (which = 0) or b (which = 1) from dy[i].
  void (*binary_grad)(BinaryFunction, int which, const MapAxes&, const float* dy, const float* a,
                      const float* b, float* to, Stream);
  // to[i] = f(a, b) as a byte, 0 or 1. Comparisons read elements of the kind, f32 or i64; logical
  // operators read truths, whatever the kind.
  void (*compare)(Comparison, ElementKind, const MapAxes&, const void* a, const void* b,
                  std::uint8_t* to, Stream);
  // to[i] = test(x[i]) for n floats; logical_not reads truths.
  void (*test_one)(UnaryTest, std::int64_t n, const void* x, std::uint8_t* to, Stream);
  // to[i] = c != 0 ? x : y for elements of `width` bytes. The operands are c (bytes), x and y.
  void (*choose)(int width, const MapAxes&, const std::uint8_t* c, const void* x, const void* y,
                 void* to, Stream);
  // to[i] = (c[i] != 0) == is_wanted ? x[i] : 0.
  void (*keep_chosen)(bool is_wanted, const MapAxes&, const std::uint8_t* c, const float* x,
                      float* to, Stream);

  // Strided copy of elements of `width` bytes from the first operand to the second.
  void (*move)(int width, const MapAxes&, const void* x, void* y, Stream);
  // Converts elements between kinds. Floats are truncated and clamped to 64 bits; NaN becomes 0.
  void (*cast)(ElementKind from, ElementKind to, std::int64_t n, const void* x, void* y, Stream);
};

}  // namespace sten::kernels
