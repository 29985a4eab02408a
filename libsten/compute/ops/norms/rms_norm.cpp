// SPDX-License-Identifier: Apache-2.0
// RMS norm (Zhang and Sennrich 2019), over runs of the last axis: x / sqrt(mean(x^2) + eps) times
// the weight, or 1 + weight.
#include "libsten/compute/ops/norms/rms_norm.h"

#include <cmath>

#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/sum_axes.h"
#include "libsten/compute/ops/norms/row_sums.h"

namespace sten {
namespace {

// 1 / sqrt(mean(x^2) + eps)
template <class T>
double run_scale(const T* x, Index n, double eps) {
  const double sum = sum_of(n, [x](Index i) { return double{x[i]} * x[i]; });
  return 1 / std::sqrt(sum / static_cast<double>(n) + eps);
}

template <class T>
std::vector<T> run_factors(const RmsNormCall& g) {
  const std::span<const T> w = g.weight.values.as<T>();
  std::vector<T> all(w.begin(), w.end());
  if (g.has_offset)
    for (T& x : all) x += 1;
  return all;
}

Outputs normalize_runs(const Call& call) {
  const RmsNormCall g("rms-norm", call, 0);
  return with_real("rms-norm", g.x.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = g.x.values.as<T>().data();
    const std::vector<T> factors = run_factors<T>(g);
    return {write_elements<T>(call.out(), g.x.extents, g.n, [&](Index begin, Index end, T* to) {
      for (Index i = begin; i < end; i += g.n, to += g.n) {
        const T* x = in + i;
        const T by = static_cast<T>(run_scale(x, g.n, g.eps));
        for (Index k = 0; k < g.n; ++k) to[k] = x[k] * by * factors[k];
      }
    })};
  });
}

// With z = x * by and g = dy * factor, dx = by * (g - z * mean(g * z)).
template <class T>
void run_gradient(const T* dy, const T* x, const T* factors, Index n, double by, T* dx) {
  const double along = sum_of(n, [&](Index k) { return double{dy[k]} * factors[k] * x[k]; }) * by /
                       static_cast<double>(n);
  const T scale = static_cast<T>(by), share = static_cast<T>(along * by);
  for (Index k = 0; k < n; ++k) dx[k] = scale * (dy[k] * factors[k] - x[k] * share);
}

Outputs normalize_runs_gradient(const Call& call) {
  const Dense& dy = call.in[0].as<Dense>();
  const RmsNormCall g("rms-norm.grad", call, 1);
  return with_real("rms-norm.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const T *x = g.x.values.as<T>().data(), *from = dy.values.as<T>().data();
    const Index n = g.n, rows = g.rows();
    Outputs out(2);
    if (call.wants(0)) {
      const std::vector<T> factors = run_factors<T>(g);
      out[0] = write_elements<T>(call.out(0), g.x.extents, n, [&](Index begin, Index end, T* to) {
        for (Index i = begin; i < end; i += n, to += n)
          run_gradient(from + i, x + i, factors.data(), n, run_scale(x + i, n, g.eps), to);
      });
    }
    if (!call.wants(1)) return out;
    const auto add_rows = [&](Index first, Index count, double* sums, double*) {
      for (Index r = first; r < first + count; ++r) {
        const T *a = from + r * n, *b = x + r * n;
        const double by = run_scale(b, n, g.eps);
        for (Index k = 0; k < n; ++k) sums[k] += by * (double{a[k]} * b[k]);
      }
    };
    const std::vector<double> sums = sum_rows(rows, n, 1, add_rows);
    out[1] = write_each<T>(call.out(1), {n}, [&](Index k) { return static_cast<T>(sums[k]); });
    return out;
  });
}

}  // namespace

void add_rms_norm(Operators& all) {
  all.declare("rms-norm", {SavedForBackward::inputs});
  add_streamed(all, "rms-norm", {"dense", "dense"}, 1, normalize_runs);
  add_streamed(all, "rms-norm.grad", std::vector<Name>(3, "dense"), 2, normalize_runs_gradient);
}

}  // namespace sten
