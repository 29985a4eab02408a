// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding: turns pairs (a, b) of a head's features by the angle position *
// frequency, to (a cos - b sin, b cos + a sin).
#include "libsten/compute/ops/attention/rotary.h"

#include <algorithm>
#include <cmath>

#include "libsten/compute/ops/common/indices.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {

RotaryCall::RotaryCall(const char* op, const Call& call, std::size_t first)
    : x(call.in[first].as<Dense>()),
      positions(call.in[first + 1].as<Dense>()),
      frequencies(call.in[first + 2].as<Dense>()) {
  call.attributes.check(op, {"heads", "interleaved", "scale"});
  heads = call.attributes.integer("heads", 1);
  const Index order = call.attributes.integer("interleaved", 0);
  if (order != 0 && order != 1) fail_usage("{}: interleaved must be 0 or 1, got {}", op, order);
  interleaved = order == 1;
  scale = call.attributes.number("scale", 1);
  if (x.extents.size() != 3)
    fail_usage("{}: x must be [batch, tokens, channels], got {}", op, to_string(x.extents));
  if (heads < 1 || x.extents[2] % heads != 0)
    fail_usage("{}: {} channels are not divisible by {} heads", op, x.extents[2], heads);
  batch = x.extents[0];
  tokens = x.extents[1];
  width = x.extents[2] / heads;
  check_dtypes(op, "x", x.dtype(), "frequencies", frequencies.dtype());
  if (frequencies.extents.size() != 1)
    fail_usage("{}: frequencies must have one axis, got {}", op, to_string(frequencies.extents));
  pairs = frequencies.extents[0];
  if (2 * pairs > width)
    fail_usage("{}: {} frequencies rotate {} features, but a head has {}", op, pairs, 2 * pairs,
               width);
  if (positions.extents != Shape{tokens} && positions.extents != Shape{batch, tokens})
    fail_usage("{}: x is {} but positions are {}", op, to_string(x.extents),
               to_string(positions.extents));
  if (first == 1) check_alike(op, "the gradient", call.in[0].as<Dense>(), "x", x);
}

template <class T>
Rotations<T>::Rotations(std::span<const Index> positions, std::span<const T> frequencies,
                        double scale)
    : pairs(std::ssize(frequencies)), cos(positions.size() * frequencies.size()), sin(cos.size()) {
  const T by = static_cast<T>(scale);
  parallel_for(std::ssize(positions),
               std::max<Index>(1, (Index{1} << 10) / std::max<Index>(1, pairs)),
               [&](Index begin, Index end) {
                 for (Index t = begin; t < end; ++t)
                   for (Index i = 0; i < pairs; ++i) {
                     const T angle = static_cast<T>(positions[t]) * frequencies[i];
                     cos[t * pairs + i] = by * std::cos(angle);
                     sin[t * pairs + i] = by * std::sin(angle);
                   }
               });
}
template struct Rotations<float>;
template struct Rotations<double>;

namespace {

template <class T>
Rotations<T> rotations_of(const char* op, const RotaryCall& g) {
  return {integers_of(op, "positions", g.positions), g.frequencies.values.as<T>(), g.scale};
}

// Rotates the features of a token; by the opposite angles if `back`.
template <class T>
void rotate(const RotaryCall& g, const T* x, const T* cos, const T* sin, bool back, T* y) {
  for (Index h = 0; h < g.heads; ++h, x += g.width, y += g.width) {
    for (Index i = 0; i < g.pairs; ++i) {
      const Index p = g.first_of(i), q = g.second_of(i);
      const T s = back ? -sin[i] : sin[i];
      y[p] = x[p] * cos[i] - x[q] * s;
      y[q] = x[q] * cos[i] + x[p] * s;
    }
    std::copy_n(x + 2 * g.pairs, g.width - 2 * g.pairs, y + 2 * g.pairs);
  }
}

// All tokens of x, rotated.
template <class T>
Tensor rotated(const RotaryCall& g, const Dense& x, const Rotations<T>& by, bool back,
               const OutFormat& format) {
  const T* from = x.values.as<T>().data();
  const Index features = g.features(), positions = g.positions.size();
  return write_elements<T>(format, x.extents, features, [&](Index begin, Index end, T* to) {
    for (Index i = begin; i < end; i += features, to += features) {
      const Index at = i / features % positions * g.pairs;
      rotate(g, from + i, by.cos.data() + at, by.sin.data() + at, back, to);
    }
  });
}

Outputs rotate_forward(const Call& call) {
  const RotaryCall g("rotary", call, 0);
  return with_real("rotary", g.x.dtype(), [&]<class T>(T) -> Outputs {
    return {rotated<T>(g, g.x, rotations_of<T>("rotary", g), false, call.out())};
  });
}

// The gradient of frequencies: with y the result, the angle of a pair has the gradient dy_q y_p -
// dy_p y_q.
template <class T>
Tensor frequency_gradient(const RotaryCall& g, const Dense& dy, const Rotations<T>& by,
                          const OutFormat& format) {
  const T *x = g.x.values.as<T>().data(), *from = dy.values.as<T>().data();
  const std::vector<Index> positions = integers_of("rotary.grad", "positions", g.positions);
  return write_each<T>(format, {g.pairs}, [&](Index i) {
    const Index p = g.first_of(i), q = g.second_of(i);
    double sum = 0;
    for (Index row = 0; row < g.batch * g.tokens * g.heads; ++row) {
      const Index t = row / g.heads % g.positions.size();
      const double cos = by.cos[t * g.pairs + i], sin = by.sin[t * g.pairs + i];
      const T *a = x + row * g.width, *d = from + row * g.width;
      const double yp = a[p] * cos - a[q] * sin, yq = a[q] * cos + a[p] * sin;
      sum += static_cast<double>(positions[t]) * (d[q] * yp - d[p] * yq);
    }
    return static_cast<T>(sum);
  });
}

Outputs rotate_gradient(const Call& call) {
  const RotaryCall g("rotary.grad", call, 1);
  const Dense& dy = call.in[0].as<Dense>();
  return with_real("rotary.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const Rotations<T> by = rotations_of<T>("rotary.grad", g);
    Outputs out(3);
    if (call.wants(0)) out[0] = rotated<T>(g, dy, by, true, call.out(0));
    if (call.wants(2)) out[2] = frequency_gradient<T>(g, dy, by, call.out(2));
    return out;
  });
}

}  // namespace

void add_rotary(Operators& all) {
  all.declare("rotary", {SavedForBackward::inputs});
  add_streamed(all, "rotary", std::vector<Name>(3, "dense"), 1, rotate_forward);
  add_streamed(all, "rotary.grad", std::vector<Name>(4, "dense"), 3, rotate_gradient);
}

}  // namespace sten
