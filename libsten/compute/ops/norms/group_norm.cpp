// SPDX-License-Identifier: Apache-2.0
// Normalization of each image of x [N, spatial..., C] in groups of channels (Wu and He 2018) or per
// channel (Ulyanov et al. 2016).
#include <cmath>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/norms/channel_moments.h"

namespace sten {
namespace {

// Checked operands and attributes of a call or its gradient.
struct GroupNorm {
  const Dense &x, &gamma, &beta;
  Index images, rows, channels, groups, width;  // rows per image, channels per group
  double eps;

  GroupNorm(std::string_view op, bool is_grouped, const Call& call, std::size_t first)
      : x(call.in[first].as<Dense>()),
        gamma(call.in[first + 1].as<Dense>()),
        beta(call.in[first + 2].as<Dense>()) {
    if (is_grouped)
      call.attributes.check(op, {"groups", "eps"});
    else
      call.attributes.check(op, {"eps"});
    eps = call.attributes.number("eps", 1e-5);
    if (!(eps >= 0)) fail_usage("{}: eps must be >= 0, got {}", op, eps);
    const Shape& s = x.extents;
    if (s.size() < 2) fail_usage("{}: x must be [N, spatial..., C], got {}", op, to_string(s));
    images = s.front();
    channels = s.back();
    const Index image = images * channels == 0 ? 0 : x.size() / images;
    rows = image == 0 ? 0 : image / channels;
    groups = is_grouped ? call.attributes.integer("groups", 1) : channels;
    if (is_grouped && (groups < 1 || channels % groups != 0))
      fail_usage("{}: the channels of x {} are not divisible by {} groups", op, to_string(s),
                 groups);
    width = groups == 0 ? 0 : channels / groups;
    for (const auto& [name, p] : {std::pair("gamma", &gamma), std::pair("beta", &beta)}) {
      check_dtypes(op, "x", x.dtype(), name, p->dtype());
      if (p->extents != Shape{channels})
        fail_usage("{}: x is {} but {} is {}", op, to_string(s), name, to_string(p->extents));
    }
  }
  Index group(Index c) const { return c / width; }
  double count() const { return static_cast<double>(rows * width); }
};

// F32 by the kernels of batch norm, F64 by the formulas.
void add_group_products(const float* dy, const float* x, Index rows, Index n, const float* mean,
                        double* sums, double* products) {
  const std::vector<float> one(n, 1.0f);
  kernels::channels().add_gradients(dy, x, rows, n, {one.data(), one.data(), false}, mean, sums,
                                    products);
}
void add_group_products(const double* dy, const double* x, Index rows, Index n, const double* mean,
                        double* sums, double* products) {
  for (Index i = 0; i < rows * n; ++i) {
    sums[i % n] += dy[i];
    products[i % n] += dy[i] * (x[i] - mean[i % n]);
  }
}
// y = a * x + b
void scale_group_rows(const float* x, Index rows, Index n, const float* a, const float* b,
                      float* y) {
  kernels::channels().scale(x, rows, n, {a, b, false}, y);
}
void scale_group_rows(const double* x, Index rows, Index n, const double* a, const double* b,
                      double* y) {
  for (Index i = 0; i < rows * n; ++i) y[i] = a[i % n] * x[i] + b[i % n];
}
// dx = a * dy + by * x + more
void scale_group_grad(const float* dy, const float* x, Index rows, Index n, const float* a,
                      const float* by, const float* more, float* dx) {
  kernels::channels().scale_grad(dy, x, rows, n, {a, a, false}, by, more, dx);
}
void scale_group_grad(const double* dy, const double* x, Index rows, Index n, const double* a,
                      const double* by, const double* more, double* dx) {
  for (Index i = 0; i < rows * n; ++i) dx[i] = a[i % n] * dy[i] + by[i % n] * x[i] + more[i % n];
}

// Two sums per image and channel, [images][2][channels], in segments of rows that do not depend on
// threads(). f(image, first row of all, rows, sums, other sums) adds a segment.
template <class F>
std::vector<double> sum_images(const GroupNorm& g, F f) {
  constexpr Index most = 64, least = 256;
  const Index piece = std::max(least, ceil_div(g.rows, most)), per_image = ceil_div(g.rows, piece);
  const Index n = 2 * g.channels;
  std::vector<double> all(static_cast<std::size_t>(g.images * per_image * n));
  parallel_for(g.images * per_image, 1, [&](Index begin, Index end) {
    for (Index p = begin; p < end; ++p) {
      const Index image = p / per_image, row = p % per_image * piece;
      double* to = all.data() + p * n;
      f(image, image * g.rows + row, std::min(piece, g.rows - row), to, to + g.channels);
    }
  });
  std::vector<double> sums(static_cast<std::size_t>(g.images * n));
  for (Index p = 0; p < g.images * per_image; ++p)
    for (Index i = 0; i < n; ++i) sums[p / per_image * n + i] += all[p * n + i];
  return sums;
}

// Per image and channel, the moments of its group.
struct GroupMoments {
  std::vector<double> mean, by;  // 1 / deviation
};

// Subtracts the first element of a group from all: groups far from 0 keep their digits, and
// constant ones have variance 0.
template <class T>
GroupMoments group_moments(const GroupNorm& g) {
  const Index n = g.channels;
  const T* x = g.x.values.as<T>().data();
  std::vector<T> shift(static_cast<std::size_t>(g.images * n));
  if (g.rows > 0)
    for (Index i = 0; i < g.images * n; ++i)
      shift[i] = x[i / n * g.rows * n + g.group(i % n) * g.width];
  const std::vector<double> sums =
      sum_images(g, [&](Index image, Index row, Index rows, double* sum, double* squares) {
        add_channel_moments(x + row * n, rows, n, shift.data() + image * n, sum, squares);
      });
  GroupMoments m{std::vector<double>(g.images * n), std::vector<double>(g.images * n)};
  for (Index i = 0; i < g.images && g.rows > 0; ++i)
    for (Index first = 0; first < n; first += g.width) {
      double sum = 0, squares = 0;
      for (Index c = first; c < first + g.width; ++c) {
        sum += sums[i * 2 * n + c];
        squares += sums[i * 2 * n + n + c];
      }
      const double mean = sum / g.count();
      const double variance = std::max(0.0, squares / g.count() - mean * mean);
      for (Index c = i * n + first; c < i * n + first + g.width; ++c) {
        m.mean[c] = shift[c] + mean;
        m.by[c] = 1 / std::sqrt(variance + g.eps);
      }
    }
  return m;
}

// Calls f(image, first row of all, rows, T* to) for rows of one image at a time.
template <class T, class F>
Tensor write_images(const OutFormat& format, const GroupNorm& g, F f) {
  const Index n = g.channels;
  return write_elements<T>(
      format, g.x.extents, std::max<Index>(1, n), [&](Index begin, Index end, T* to) {
        for (Index row = begin / n; row < end / n;) {
          const Index image = row / g.rows, until = std::min(end / n, (image + 1) * g.rows);
          f(image, row, until - row, to);
          to += (until - row) * n;
          row = until;
        }
      });
}

template <bool is_grouped>
constexpr const char* group_norm_name = is_grouped ? "group-norm" : "instance-norm";
template <bool is_grouped>
constexpr const char* group_norm_grad_name = is_grouped ? "group-norm.grad" : "instance-norm.grad";

template <bool is_grouped>
Outputs normalise_groups(const Call& call) {
  const GroupNorm g(group_norm_name<is_grouped>, is_grouped, call, 0);
  return with_real(group_norm_name<is_grouped>, g.x.dtype(), [&]<class T>(T) -> Outputs {
    const T *x = g.x.values.as<T>().data(), *gamma = g.gamma.values.as<T>().data(),
            *beta = g.beta.values.as<T>().data();
    const Index n = g.channels;
    const GroupMoments m = group_moments<T>(g);
    std::vector<T> a(m.mean.size()), b(m.mean.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Index c = static_cast<Index>(i) % n;
      const double by = gamma[c] * m.by[i];
      a[i] = static_cast<T>(by);
      b[i] = static_cast<T>(beta[c] - m.mean[i] * by);
    }
    return {write_images<T>(call.out(), g, [&](Index image, Index row, Index rows, T* to) {
      scale_group_rows(x + row * n, rows, n, a.data() + image * n, b.data() + image * n, to);
    })};
  });
}

// Gradient through the moments: with d = dy * gamma, dx = (d - mean(d) - (x - mean) * mean(d * (x -
// mean)) / variance) / deviation.
template <class T>
Tensor group_norm_dx(const OutFormat& format, const GroupNorm& g, const GroupMoments& m,
                     const std::vector<double>& sums, const T* dy) {
  const T *x = g.x.values.as<T>().data(), *gamma = g.gamma.values.as<T>().data();
  const Index n = g.channels;
  std::vector<T> a(m.mean.size()), by(a.size()), more(a.size());
  for (Index i = 0; i < g.images; ++i)
    for (Index first = 0; first < n; first += g.width) {
      double sum = 0, products = 0;
      for (Index c = first; c < first + g.width; ++c) {
        sum += gamma[c] * sums[i * 2 * n + c];
        products += gamma[c] * sums[i * 2 * n + n + c];
      }
      for (Index c = first; c < first + g.width; ++c) {
        const Index k = i * n + c;
        const double slope = -products / g.count() * m.by[k] * m.by[k] * m.by[k];
        a[k] = static_cast<T>(gamma[c] * m.by[k]);
        by[k] = static_cast<T>(slope);
        more[k] = static_cast<T>(-sum / g.count() * m.by[k] - slope * m.mean[k]);
      }
    }
  return write_images<T>(format, g, [&](Index image, Index row, Index rows, T* to) {
    const Index k = image * n;
    scale_group_grad(dy + row * n, x + row * n, rows, n, a.data() + k, by.data() + k,
                     more.data() + k, to);
  });
}

template <bool is_grouped>
Outputs normalise_groups_grad(const Call& call) {
  constexpr const char* op = group_norm_grad_name<is_grouped>;
  const GroupNorm g(op, is_grouped, call, 1);
  const Dense& dy = call.in[0].as<Dense>();
  check_alike(op, "the gradient", dy, "x", g.x);
  return with_real(op, dy.dtype(), [&]<class T>(T) -> Outputs {
    Outputs out(call.formats.size());
    const T *x = g.x.values.as<T>().data(), *from = dy.values.as<T>().data();
    const Index n = g.channels;
    const GroupMoments m = group_moments<T>(g);
    const std::vector<T> mean(m.mean.begin(), m.mean.end());
    const std::vector<double> sums =
        sum_images(g, [&](Index image, Index row, Index rows, double* sum, double* products) {
          add_group_products(from + row * n, x + row * n, rows, n, mean.data() + image * n, sum,
                             products);
        });
    if (call.wants(0)) out[0] = group_norm_dx<T>(call.out(0), g, m, sums, from);
    const auto over_images = [&](Index part, bool is_scaled) {
      std::vector<double> total(n);
      for (Index i = 0; i < g.images * n; ++i)
        total[i % n] += sums[i / n * 2 * n + part * n + i % n] * (is_scaled ? m.by[i] : 1);
      return total;
    };
    for (const std::size_t i : {1, 2}) {
      if (!call.wants(i)) continue;
      const std::vector<double> total = over_images(i == 1 ? 1 : 0, i == 1);
      out[i] = write_each<T>(call.out(i), {n}, [&](Index c) { return static_cast<T>(total[c]); });
    }
    return out;
  });
}

template <bool is_grouped>
void add_group_norm(Operators& all) {
  all.declare(group_norm_name<is_grouped>, {SavedForBackward::inputs});
  add_streamed(all, group_norm_name<is_grouped>, std::vector<Name>(3, "dense"), 1,
               normalise_groups<is_grouped>);
  add_streamed(all, group_norm_grad_name<is_grouped>, std::vector<Name>(4, "dense"), 3,
               normalise_groups_grad<is_grouped>);
}

}  // namespace

void add_group_norms(Operators& all) {
  add_group_norm<true>(all);
  add_group_norm<false>(all);
}

}  // namespace sten
