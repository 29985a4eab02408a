// SPDX-License-Identifier: Apache-2.0
// Local response normalization over neighbouring channels (Krizhevsky et al. 2012).
#include <cmath>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

// y = x / s^beta with s = bias + alpha / size * sum of x^2 over `size` channels around each.
struct Response {
  Index channels, before, after;
  double alpha, beta, bias;  // alpha: per channel

  Response(std::string_view op, const Shape& x, const Attributes& a) {
    a.check(op, {"size", "alpha", "beta", "bias"});
    if (x.size() < 2) fail_usage("{}: x must be [..., channels], got {}", op, to_string(x));
    const Index size = a.integer("size", 0);
    if (size < 1 || size > Index{1} << 31)
      fail_usage("{}: size must be in [1, 2^31], got {}", op, size);
    channels = x.back();
    // Larger windows have the same effect.
    before = std::min((size - 1) / 2, channels);
    after = std::min(size / 2, channels);
    alpha = a.number("alpha", 1e-4) / static_cast<double>(size);
    beta = a.number("beta", 0.75);
    bias = a.number("bias", 1);
  }

  // sums[c]: the sum of values[c - low] to values[c + high]; `padded` has room for all of these.
  template <class T>
  void add_around(const T* values, Index low, Index high, std::vector<T>& padded, T* sums) const {
    padded.assign(static_cast<std::size_t>(low + channels + high), T{0});
    std::copy(values, values + channels, padded.begin() + low);
    std::fill(sums, sums + channels, T{0});
    for (Index k = 0; k <= low + high; ++k) {
      const T* v = padded.data() + k;
      for (Index c = 0; c < channels; ++c) sums[c] += v[c];
    }
  }
};

// Scratch of a thread for a row.
template <class T>
struct ResponseRow {
  std::vector<T> values, padded, s, power;

  explicit ResponseRow(Index n) : values(n), s(n), power(n) {}
  // s, and s^-beta.
  void take(const Response& r, const T* x) {
    const auto alpha = static_cast<T>(r.alpha), bias = static_cast<T>(r.bias);
    for (Index c = 0; c < r.channels; ++c) values[c] = x[c] * x[c];
    r.add_around(values.data(), r.before, r.after, padded, s.data());
    for (Index c = 0; c < r.channels; ++c) s[c] = bias + alpha * s[c];
    if (r.beta == 0.75) {
      for (Index c = 0; c < r.channels; ++c) {
        const T root = std::sqrt(s[c]);
        power[c] = 1 / (root * std::sqrt(root));
      }
    } else {
      const auto beta = static_cast<T>(-r.beta);
      for (Index c = 0; c < r.channels; ++c) power[c] = std::pow(s[c], beta);
    }
  }
};

// Calls f(row, offset of the row, T* to).
template <class T, class F>
Tensor write_responses(const OutFormat& format, const Shape& shape, F f) {
  const Index n = shape.back();
  return write_elements<T>(format, shape, std::max<Index>(1, n),
                           [&](Index begin, Index end, T* to) {
                             ResponseRow<T> row(n);
                             for (Index i = begin; i < end; i += n) f(row, i, to + (i - begin));
                           });
}

Outputs lrn(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  const Response r("lrn", x.extents, call.attributes);
  return with_real("lrn", x.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = x.values.as<T>().data();
    return {write_responses<T>(call.out(), x.extents, [&](ResponseRow<T>& row, Index at, T* to) {
      row.take(r, in + at);
      for (Index c = 0; c < r.channels; ++c) to[c] = in[at + c] * row.power[c];
    })};
  });
}

// dx = dy s^-beta - 2 alpha beta x * sum of dy x s^(-beta - 1) over the channels whose s includes
// x.
Outputs lrn_grad(const Call& call) {
  if (!call.wants(0)) return {std::nullopt};
  const Dense &dy = call.in[0].as<Dense>(), &x = call.in[1].as<Dense>();
  const Response r("lrn.grad", x.extents, call.attributes);
  check_alike("lrn.grad", "the gradient", dy, "x", x);
  return with_real("lrn.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const T *in = x.values.as<T>().data(), *from = dy.values.as<T>().data();
    const auto by = static_cast<T>(-2 * r.alpha * r.beta);
    return {write_responses<T>(call.out(), x.extents, [&](ResponseRow<T>& row, Index at, T* to) {
      row.take(r, in + at);
      for (Index c = 0; c < r.channels; ++c)
        row.values[c] = from[at + c] * in[at + c] * row.power[c] / row.s[c];
      r.add_around(row.values.data(), r.after, r.before, row.padded, row.s.data());
      for (Index c = 0; c < r.channels; ++c)
        to[c] = from[at + c] * row.power[c] + by * in[at + c] * row.s[c];
    })};
  });
}

}  // namespace

void add_lrn(Operators& all) {
  all.declare("lrn", {SavedForBackward::inputs});
  add_streamed(all, "lrn", {"dense"}, 1, lrn);
  add_streamed(all, "lrn.grad", {"dense", "dense"}, 1, lrn_grad);
}

}  // namespace sten
