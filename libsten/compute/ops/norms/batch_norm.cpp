// SPDX-License-Identifier: Apache-2.0
// Normalization of each channel (the last axis of x[..., C]) over all other axes (Ioffe and Szegedy
// 2015).
#include "libsten/compute/ops/norms/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/norms/channel_moments.h"
#include "libsten/compute/ops/norms/row_sums.h"

namespace sten {
namespace {

constexpr Index least_rows = 256;  // of a segment of sums

// Per channel, over the rows; the variance is biased.
struct Moments {
  std::vector<double> mean, variance;
};

// y = a * x + b, perhaps with a relu: F32 by kernels, F64 by the formula.
template <class T>
struct Scale {
  std::vector<T> a, b;
  bool relu;

  T operator()(T x, Index c) const {
    const T y = a[c] * x + b[c];
    return relu && y <= 0 ? T{0} : y;
  }
  T gradient(T dy, T x, Index c) const { return relu && !(a[c] * x + b[c] > 0) ? T{0} : dy; }
  kernels::ChannelScale view() const { return {a.data(), b.data(), relu}; }
};

// Subtracts the first row from all: channels far from 0 keep their digits, and constant ones have
// variance 0.
template <class T>
Moments moments_of(const T* x, Index rows, Index n) {
  Moments m{std::vector<double>(n), std::vector<double>(n)};
  if (rows == 0) return m;
  const std::vector<double> sums =
      sum_rows(rows, n, least_rows, [&](Index first, Index count, double* sum, double* squares) {
        add_channel_moments(x + first * n, count, n, x, sum, squares);
      });
  const auto count = static_cast<double>(rows);
  for (Index c = 0; c < n; ++c) {
    const double mean = sums[c] / count;
    m.mean[c] = x[c] + mean;
    m.variance[c] = std::max(0.0, sums[n + c] / count - mean * mean);
  }
  return m;
}

// Computed at first use and cached with x, for its gradient and batch-moments.
const Moments& moments_of(std::string_view op, const Tensor& x) {
  return *x.derived().get<Moments>([&] {
    const Dense& d = x.as<Dense>();
    return with_real(op, d.dtype(), [&]<class T>(T) {
      const Index n = d.extents.back();
      return moments_of(d.values.as<T>().data(), n == 0 ? 0 : d.size() / n, n);
    });
  });
}

// In inference, mean and variance are inputs.
struct BatchNorm : BatchNormCall {
  using BatchNormCall::BatchNormCall;

  // gamma * (x - mean) / deviation + beta.
  template <class T>
  Scale<T> scale(const Moments& m) const {
    Scale<T> s{std::vector<T>(n), std::vector<T>(n), relu};
    const T *gamma = given[0]->values.as<T>().data(), *beta = given[1]->values.as<T>().data();
    for (Index c = 0; c < n; ++c) {
      const double a = gamma[c] / std::sqrt(m.variance[c] + eps);
      s.a[c] = static_cast<T>(a);
      s.b[c] = static_cast<T>(beta[c] - m.mean[c] * a);
    }
    return s;
  }
  template <class T>
  Moments running() const {
    const auto mean = given[2]->values.as<T>(), variance = given[3]->values.as<T>();
    return {{mean.begin(), mean.end()}, {variance.begin(), variance.end()}};
  }
};

void scale_rows(const Scale<float>& s, const float* x, Index rows, Index n, float* y) {
  kernels::channels().scale(x, rows, n, s.view(), y);
}
void scale_rows(const Scale<double>& s, const double* x, Index rows, Index n, double* y) {
  for (Index i = 0; i < rows * n; ++i) y[i] = s(x[i], i % n);
}

void add_gradients(const Scale<float>& s, const float* dy, const float* x, Index rows, Index n,
                   const float* mean, double* sums, double* products) {
  kernels::channels().add_gradients(dy, x, rows, n, s.view(), mean, sums, products);
}
void add_gradients(const Scale<double>& s, const double* dy, const double* x, Index rows, Index n,
                   const double* mean, double* sums, double* products) {
  for (Index i = 0; i < rows * n; ++i) {
    const double g = s.gradient(dy[i], x[i], i % n);
    sums[i % n] += g;
    products[i % n] += g * (x[i] - mean[i % n]);
  }
}

// dx = a * g + by * x + more.
void scale_grad(const Scale<float>& s, const float* dy, const float* x, Index rows, Index n,
                const float* by, const float* more, float* dx) {
  kernels::channels().scale_grad(dy, x, rows, n, s.view(), by, more, dx);
}
void scale_grad(const Scale<double>& s, const double* dy, const double* x, Index rows, Index n,
                const double* by, const double* more, double* dx) {
  for (Index i = 0; i < rows * n; ++i)
    dx[i] = s.a[i % n] * s.gradient(dy[i], x[i], i % n) + by[i % n] * x[i] + more[i % n];
}

// Adds fill(begin, end, T* to), which computes whole rows, in segments that stay in cache.
template <class T, class F>
void add_rows(Values& sum, Index rows, Index n, F&& fill) {
  constexpr Index some = 4096;
  T* all = sum.mutate<T>().data();
  parallel_for(rows, ceil_div(some, std::max<Index>(1, n)), [&](Index begin, Index end) {
    std::vector<T> piece(static_cast<std::size_t>((end - begin) * n));
    fill(begin * n, end * n, piece.data());
    T* to = all + begin * n;
    for (std::size_t i = 0; i < piece.size(); ++i) to[i] += piece[i];
  });
}

template <bool trains>
Outputs normalise(const Call& call) {
  const BatchNorm b(batch_norm_name<trains>, trains, call, 0);
  return with_real(batch_norm_name<trains>, b.x.dtype(), [&]<class T>(T) -> Outputs {
    const T* x = b.x.values.as<T>().data();
    const Scale<T> s =
        b.scale<T>(trains ? moments_of(batch_norm_name<trains>, call.in[0]) : b.running<T>());
    return {write_elements<T>(call.out(), b.x.extents, std::max<Index>(1, b.n),
                              [&](Index begin, Index end, T* to) {
                                scale_rows(s, x + begin, (end - begin) / b.n, b.n, to);
                              })};
  });
}

template <bool trains>
Outputs normalise_grad(const Call& call) {
  const BatchNorm b(batch_norm_grad_name<trains>, trains, call, 1);
  const Dense& dy = call.in[0].as<Dense>();
  return with_real(batch_norm_grad_name<trains>, dy.dtype(), [&]<class T>(T) -> Outputs {
    Outputs out(call.formats.size());
    const T *x = b.x.values.as<T>().data(), *from = dy.values.as<T>().data();
    const Index n = b.n;
    const Moments m =
        trains ? moments_of(batch_norm_grad_name<trains>, call.in[1]) : b.running<T>();
    const Scale<T> s = b.scale<T>(m);
    std::vector<T> mean(n), by(n), more(n);
    std::vector<double> sums(2 * n);
    for (Index c = 0; c < n; ++c) mean[c] = static_cast<T>(m.mean[c]);
    const bool needs_sums = trains || std::ranges::any_of(call.formats.subspan(1),
                                                          [](auto* f) { return f != nullptr; });
    if (needs_sums)
      sums = sum_rows(
          b.rows, n, least_rows, [&](Index first, Index count, double* sum, double* products) {
            add_gradients(s, from + first * n, x + first * n, count, n, mean.data(), sum, products);
          });
    if (call.wants(0)) {
      // Gradient through mean and variance: a * (g - mean(g) - (x - mean) * mean(g * (x - mean)) /
      // variance).
      for (Index c = 0; c < n && trains && b.rows > 0; ++c) {
        const auto rows = static_cast<double>(b.rows);
        const double slope = -double{s.a[c]} * sums[n + c] / rows / (m.variance[c] + b.eps);
        by[c] = static_cast<T>(slope);
        more[c] = static_cast<T>(-double{s.a[c]} * sums[c] / rows - slope * mean[c]);
      }
      const auto fill = [&](Index begin, Index end, T* to) {
        scale_grad(s, from + begin, x + begin, (end - begin) / n, n, by.data(), more.data(), to);
      };
      out[0] = call.add_to_sum(0, [&](Values& sum) { add_rows<T>(sum, b.rows, n, fill); });
      if (!out[0])
        out[0] = write_elements<T>(call.out(0), b.x.extents, std::max<Index>(1, n), fill);
    }
    if (call.wants(1))
      out[1] = write_each<T>(call.out(1), {n}, [&](Index c) {
        return static_cast<T>(sums[n + c] / std::sqrt(m.variance[c] + b.eps));
      });
    if (call.wants(2))
      out[2] = write_each<T>(call.out(2), {n}, [&](Index c) { return static_cast<T>(sums[c]); });
    if (!trains && call.wants(3))
      out[3] = write_each<T>(call.out(3), {n},
                             [&](Index c) { return static_cast<T>(-double{s.a[c]} * sums[c]); });
    if (!trains && call.wants(4))
      out[4] = write_each<T>(call.out(4), {n}, [&](Index c) {
        return static_cast<T>(-0.5 * double{s.a[c]} * sums[n + c] / (m.variance[c] + b.eps));
      });
    return out;
  });
}

Outputs moments(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  const double factor = variance_factor(call, x);
  const Index n = x.extents.back();
  const Moments& m = moments_of("batch-moments", call.in[0]);
  return with_real("batch-moments", x.dtype(), [&]<class T>(T) -> Outputs {
    return {write_each<T>(call.out(), {2, n}, [&](Index i) {
      return static_cast<T>(i < n ? m.mean[i] : m.variance[i - n] * factor);
    })};
  });
}

template <bool trains>
void add_batch_norm(Operators& all) {
  all.declare(batch_norm_name<trains>, {SavedForBackward::inputs});
  const std::size_t inputs = trains ? 3 : 5;
  add_streamed(all, batch_norm_name<trains>, std::vector<Name>(inputs, "dense"), 1,
               normalise<trains>);
  add_streamed(all, batch_norm_grad_name<trains>, std::vector<Name>(inputs + 1, "dense"), inputs,
               normalise_grad<trains>);
}

}  // namespace

void add_batch_norms(Operators& all) {
  add_batch_norm<true>(all);
  add_batch_norm<false>(all);
  all.declare("batch-moments", {SavedForBackward::nothing});
  add_streamed(all, "batch-moments", {"dense"}, 1, moments);
}

}  // namespace sten
