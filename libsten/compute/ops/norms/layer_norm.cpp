// SPDX-License-Identifier: Apache-2.0
// Layer normalization (Ba, Kiros, Hinton 2016), over the last axis.
#include "libsten/compute/ops/norms/layer_norm.h"

#include <cmath>

#include "kernels/rows.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/sum_axes.h"
#include "libsten/compute/ops/norms/row_sums.h"

namespace sten {
namespace {

// Statistics of a row. F64 by the formula, with the mean first, so that the variance of values far
// from 0 keeps its digits; F32 by kernels.
struct Statistics {
  double mean, by;  // 1 / deviation
};
Statistics moments(const double* x, Index n, double eps) {
  const double mean = sum_run(x, n) / static_cast<double>(n);
  const auto square = [&](Index i) { return (x[i] - mean) * (x[i] - mean); };
  return {mean, 1 / std::sqrt(sum_of(n, square) / static_cast<double>(n) + eps)};
}
kernels::RowMoments moments(const float* x, Index n, double eps) {
  return kernels::rows().moments(x, n, eps);
}

void normalize(const Statistics& s, const double* x, Index n, const double* gamma,
               const double* beta, double* y) {
  for (Index i = 0; i < n; ++i) y[i] = (x[i] - s.mean) * s.by * gamma[i] + beta[i];
}
void normalize(const kernels::RowMoments& s, const float* x, Index n, const float* gamma,
               const float* beta, float* y) {
  kernels::rows().normalize(s, x, n, gamma, beta, y);
}

// With z = (x - mean) * by and g = dy * gamma, dx = by * (g - mean(g) - z * mean(g * z)).
void normalize_grad(const Statistics& s, const double* dy, const double* x, Index n,
                    const double* gamma, double* dx) {
  const auto z = [&](Index i) { return (x[i] - s.mean) * s.by; };
  const auto g = [&](Index i) { return dy[i] * gamma[i]; };
  const double mean = sum_of(n, g) / static_cast<double>(n);
  const double along = sum_of(n, [&](Index i) { return g(i) * z(i); }) / static_cast<double>(n);
  for (Index i = 0; i < n; ++i) dx[i] = s.by * (g(i) - mean - z(i) * along);
}
void normalize_grad(const kernels::RowMoments& s, const float* dy, const float* x, Index n,
                    const float* gamma, float* dx) {
  kernels::rows().normalize_grad(s, dy, x, n, gamma, dx);
}

// Adds dy * z and dy to the sums.
void add_normalized(const Statistics& s, const double* dy, const double* x, Index n, double* gamma,
                    double* beta) {
  for (Index i = 0; i < n; ++i) {
    gamma[i] += dy[i] * ((x[i] - s.mean) * s.by);
    beta[i] += dy[i];
  }
}
void add_normalized(const kernels::RowMoments& s, const float* dy, const float* x, Index n,
                    double* gamma, double* beta) {
  kernels::rows().add_normalized(s, dy, x, n, gamma, beta);
}

Outputs forward(const Call& call) {
  const LayerNormCall g("layer-norm", call, 0);
  return with_real("layer-norm", g.x.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = g.x.values.as<T>().data();
    const T *gamma = g.gamma.values.as<T>().data(), *beta = g.beta.values.as<T>().data();
    return {write_elements<T>(call.out(), g.x.extents, g.n, [&](Index begin, Index end, T* to) {
      for (Index i = begin; i < end; i += g.n, to += g.n) {
        const T* x = in + i;
        normalize(moments(x, g.n, g.eps), x, g.n, gamma, beta, to);
      }
    })};
  });
}

Outputs backward(const Call& call) {
  const Dense& dy = call.in[0].as<Dense>();
  const LayerNormCall g("layer-norm.grad", call, 1);
  return with_real("layer-norm.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const T *x = g.x.values.as<T>().data(), *from = dy.values.as<T>().data();
    const T* gamma = g.gamma.values.as<T>().data();
    const Index n = g.n, rows = n == 0 ? 0 : g.x.size() / n;
    Outputs out(3);
    if (!call.wants(0) && !call.wants(1) && !call.wants(2)) return out;
    std::vector<decltype(moments(x, n, g.eps))> rows_of(rows);
    parallel_for(rows, 64, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) rows_of[r] = moments(x + r * n, n, g.eps);
    });
    if (call.wants(0))
      out[0] = write_elements<T>(call.out(0), g.x.extents, n, [&](Index begin, Index end, T* to) {
        for (Index i = begin; i < end; i += n)
          normalize_grad(rows_of[i / n], from + i, x + i, n, gamma, to + (i - begin));
      });
    if (!call.wants(1) && !call.wants(2)) return out;
    const auto add_rows = [&](Index first, Index count, double* to_gamma, double* to_beta) {
      for (Index r = first; r < first + count; ++r)
        add_normalized(rows_of[r], from + r * n, x + r * n, n, to_gamma, to_beta);
    };
    const std::vector<double> sums = sum_rows(rows, n, 1, add_rows);
    for (std::size_t i = 1; i <= 2; ++i)
      if (call.wants(i))
        out[i] = write_each<T>(call.out(i), {n}, [&](Index c) {
          return static_cast<T>(sums[static_cast<Index>(i - 1) * n + c]);
        });
    return out;
  });
}

}  // namespace

void add_layer_norm(Operators& all) {
  all.declare("layer-norm", {SavedForBackward::inputs});
  add_streamed(all, "layer-norm", {"dense", "dense", "dense"}, 1, forward);
  add_streamed(all, "layer-norm.grad", std::vector<Name>(4, "dense"), 3, backward);
}

}  // namespace sten
