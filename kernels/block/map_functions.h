// What a device does element by element, and what moves elements: functions of one and of two
// tensors, sums over axes, pieces and orders of tensors.
// What functions.h says of pointers, streams and bits holds here, too. All elements are floats unless
// said otherwise. Sums are added up in double, in an order that depends on shapes alone.
#pragma once
#include "kernels/block/grid.h"

namespace sten::kernels {

// Functions of one tensor, as operators of these names have them (libsten/ops/activation.cpp,
// elementwise.cpp).
// clang-format off
enum class MapFunction : std::uint8_t {
  scale, relu, gelu, gelu_tanh, tanh, sigmoid, silu,
  abs, neg, sign, floor, ceil, round, sqrt, exp, log, reciprocal, erf, softplus,
  elu, leaky_relu, hard_sigmoid, hard_swish, clip, relu6,
  sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh,
  selu, celu, thresholded_relu, softsign, mish, shrink
};
// clang-format on
// Numbers that a function takes.
struct MapParameters {
  float a = 0, b = 0;
};

// Functions of two tensors (libsten/ops/binary.cpp), and comparisons.
enum class BinaryFunction : std::uint8_t { add, sub, mul, div, pow, p_relu, min, max };
enum class BinaryTest : std::uint8_t {
  equal,
  less,
  less_or_equal,
  logical_and,
  logical_or,
  logical_xor
};
enum class UnaryTest : std::uint8_t { is_nan, is_inf, is_plus_inf, is_minus_inf, logical_not };
// A truth is a byte that is not 0.
enum class ElementKind : std::uint8_t { f32, i64, truth };

// How elements are walked: along axes, the innermost one first, on which operands have steps of
// their own. A step of 0 repeats.
inline constexpr int most_map_axes = 6, most_map_operands = 3;
struct MapAxis {
  std::int64_t extent = 1, steps[most_map_operands] = {};
};
struct MapAxes {
  int count = 1;  // > 0
  MapAxis at[most_map_axes];
};

// Extents of a tensor and which of its axes are summed, the outermost one first.
inline constexpr int most_sum_axes = 12;
struct SumAxes {
  int count = 0;
  std::int64_t extents[most_sum_axes] = {};
  bool is_summed[most_sum_axes] = {};
};

struct MapFunctions {
  // y[rows, n] += b[n].
  void (*add_bias)(std::int64_t rows, std::int64_t n, const float* b, float* y, Stream);
  // to[n] = the sum of the rows of x[rows, n].
  void (*sum_rows)(std::int64_t rows, std::int64_t n, const float* x, float* to, Stream);
  // to: the sums of x over axes, each divided by count.
  void (*sum)(const SumAxes&, const float* x, double count, float* to, Stream);

  // y[i] = f(x[i]); y may be x.
  void (*map)(MapFunction, MapParameters, std::int64_t n, const float* x, float* y, Stream);
  // dx[i] from dy[i] and saved[i], which is x or y as the operator saves it; any may be another.
  void (*map_grad)(MapFunction, MapParameters, std::int64_t n, const float* dy, const float* saved,
                   float* dx, Stream);
  // y[i] = by * x[i], and 0 where number i of a stream of random numbers (kernels/random.h), of 53
  // bits, is below `dropped`. The stream is that of the seed, and, unless draw is nullptr, of *draw.
  void (*drop)(std::uint64_t dropped, std::uint64_t seed, const std::int64_t* draw, float by,
               std::int64_t n, const float* x, float* y, Stream);

  // to[i] = f(a, b) in the order of the walk, in which operands are a and b.
  void (*binary)(BinaryFunction, const MapAxes&, const float* a, const float* b, float* to, Stream);
  // The gradient of a (which = 0) or b (1) from dy[i], not of add and sub.
  void (*binary_grad)(BinaryFunction, int which, const MapAxes&, const float* dy, const float* a,
                      const float* b, float* to, Stream);
  // to[i], a byte that is 0 or 1, of elements of that kind. Logic is of truths, whatever the kind.
  void (*test)(BinaryTest, ElementKind, const MapAxes&, const void* a, const void* b,
               std::uint8_t* to, Stream);
  // Of each of n floats; logical_not of truths.
  void (*test_one)(UnaryTest, std::int64_t n, const void* x, std::uint8_t* to, Stream);
  // to[i] = c != 0 ? x : y of elements of that many bytes; operands are c, of bytes, x and y.
  void (*choose)(int width, const MapAxes&, const std::uint8_t* c, const void* x, const void* y,
                 void* to, Stream);
  // to[i] = (c[i] != 0) == is_wanted ? x[i] : 0.
  void (*keep_chosen)(bool is_wanted, const MapAxes&, const std::uint8_t* c, const float* x,
                      float* to, Stream);

  // Elements of that many bytes from the places of the first operand to those of the second one.
  void (*move)(int width, const MapAxes&, const void* x, void* y, Stream);
  // Elements as such of another kind: floats towards zero within 64 bits, of which NaN becomes 0.
  void (*cast)(ElementKind from, ElementKind to, std::int64_t n, const void* x, void* y, Stream);
};

}  // namespace sten::kernels
