// Layer normalization (Ba, Kiros, Hinton 2016), over the last axis.
#include <cmath>

#include "libsten/ops/check.h"
#include "libsten/ops/output.h"
#include "libsten/ops/register.h"
#include "libsten/ops/sum_axes.h"

namespace sten {
namespace {

struct Statistics {
  double mean = 0, by = 0;  // 1 / deviation

  // The mean first: the variance of what is far from 0 has its digits, too.
  template <class T>
  Statistics(const T* x, Index n, double eps) {
    mean = sum_run(x, n) / static_cast<double>(n);
    const auto square = [&](Index i) { return (x[i] - mean) * (x[i] - mean); };
    by = 1 / std::sqrt(sum_of(n, square) / static_cast<double>(n) + eps);
  }
  Statistics() = default;
};

// What both get, checked.
struct Given {
  const Dense &x, &gamma, &beta;
  Index n = 0;
  double eps;

  Given(const char* op, const Call& call, std::size_t first)
      : x(call.in[first].as<Dense>()),
        gamma(call.in[first + 1].as<Dense>()),
        beta(call.in[first + 2].as<Dense>()) {
    call.attributes.check(op, {"eps"});
    eps = call.attributes.number("eps", 1e-5);
    if (!(eps >= 0)) fail_usage("{}: eps is {}; it has to be 0 or more", op, eps);
    if (x.extents.empty()) fail_usage("{}: x is [] and has no last axis", op);
    n = x.extents.back();
    for (const auto& [name, p] : {std::pair("gamma", &gamma), std::pair("beta", &beta)}) {
      check_dtypes(op, "x", x.dtype(), name, p->dtype());
      if (p->extents != Shape{n})
        fail_usage("{}: x is {} but {} has {}", op, to_string(x.extents), name,
                   to_string(p->extents));
    }
  }
};

Outputs forward(const Call& call) {
  const Given g("layer-norm", call, 0);
  return with_real("layer-norm", g.x.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = g.x.values.as<T>().data();
    const T *gamma = g.gamma.values.as<T>().data(), *beta = g.beta.values.as<T>().data();
    return {write_elements<T>(call.out(), g.x.extents, g.n, [&](Index begin, Index end, T* to) {
      for (Index i = begin; i < end; i += g.n, to += g.n) {
        const T* x = in + i;
        const Statistics s(x, g.n, g.eps);
        for (Index c = 0; c < g.n; ++c)
          to[c] = static_cast<T>((x[c] - s.mean) * s.by * gamma[c] + beta[c]);
      }
    })};
  });
}

// The sums over the rows of f(row, column), in pieces of rows that do not depend on threads().
template <class T, class F>
Tensor sum_rows(const OutFormat& format, Index rows, Index n, F f) {
  constexpr Index most = 64;
  const Index piece = std::max<Index>(1, ceil_div(rows, most)), pieces = ceil_div(rows, piece);
  std::vector<double> sums(pieces * n);
  parallel_for(pieces, 1, [&](Index begin, Index end) {
    for (Index p = begin; p < end; ++p)
      for (Index r = p * piece; r < std::min(rows, (p + 1) * piece); ++r)
        for (Index c = 0; c < n; ++c) sums[p * n + c] += f(r, c);
  });
  return write_elements<T>(format, {n}, [&](Index begin, Index end, T* to) {
    for (Index c = begin; c < end; ++c) {
      double sum = 0;
      for (Index p = 0; p < pieces; ++p) sum += sums[p * n + c];
      to[c - begin] = static_cast<T>(sum);
    }
  });
}

// With z = (x - mean) * by and g = dy * gamma, dx = by * (g - mean(g) - z * mean(g * z)).
template <class T>
void grad_row(const T* x, const T* dy, const T* gamma, const Statistics& s, T* dx, Index n) {
  const auto z = [&](Index i) { return (x[i] - s.mean) * s.by; };
  const auto g = [&](Index i) { return double{dy[i]} * gamma[i]; };
  const double mean = sum_of(n, g) / static_cast<double>(n);
  const double along = sum_of(n, [&](Index i) { return g(i) * z(i); }) / static_cast<double>(n);
  for (Index i = 0; i < n; ++i) dx[i] = static_cast<T>(s.by * (g(i) - mean - z(i) * along));
}

Outputs backward(const Call& call) {
  const Dense& dy = call.in[0].as<Dense>();
  const Given g("layer-norm.grad", call, 1);
  check_alike("layer-norm.grad", "the gradient", dy, "x", g.x);
  return with_real("layer-norm.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const T *x = g.x.values.as<T>().data(), *from = dy.values.as<T>().data();
    const T* gamma = g.gamma.values.as<T>().data();
    const Index n = g.n, rows = n == 0 ? 0 : g.x.size() / n;
    Outputs out(3);
    std::vector<Statistics> rows_of(call.wants(0) || call.wants(1) ? rows : 0);
    parallel_for(std::ssize(rows_of), 64, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) rows_of[r] = Statistics(x + r * n, n, g.eps);
    });
    if (call.wants(0))
      out[0] = write_elements<T>(call.out(0), g.x.extents, n, [&](Index begin, Index end, T* to) {
        for (Index i = begin; i < end; i += n)
          grad_row(x + i, from + i, gamma, rows_of[i / n], to + (i - begin), n);
      });
    if (call.wants(1))
      out[1] = sum_rows<T>(call.out(1), rows, n, [&](Index r, Index c) {
        return from[r * n + c] * ((x[r * n + c] - rows_of[r].mean) * rows_of[r].by);
      });
    if (call.wants(2))
      out[2] = sum_rows<T>(call.out(2), rows, n,
                           [&](Index r, Index c) { return double{from[r * n + c]}; });
    return out;
  });
}

}  // namespace

void add_layer_norm(Operators& all) {
  all.declare("layer-norm", {Keeps::inputs});
  add_streamed(all, "layer-norm", {"dense", "dense", "dense"}, 1, forward);
  add_streamed(all, "layer-norm.grad", std::vector<Name>(4, "dense"), 3, backward);
}

}  // namespace sten
