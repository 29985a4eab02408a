// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/norms/axis_rows.h"
#include "libsten/compute/ops/norms/softmax_row.h"

namespace sten {
namespace {

struct Softmax {
  static constexpr const char* name = "softmax";
  template <class T>
  static void row(const T* x, T* y, Index n) {
    softmax_row(x, n, T{1}, y);
  }
  template <class T>
  static void grad(const T* dy, const T* y, T* dx, Index n) {
    softmax_grad_row(dy, y, n, T{1}, dx);
  }
};

struct LogSoftmax {
  static constexpr const char* name = "log-softmax";
  template <class T>
  static void row(const T* x, T* y, Index n) {
    const T most = max_run(x, n);
    const T log_sum = static_cast<T>(std::log(exp_sum(x, n, most, nullptr)));
    for (Index i = 0; i < n; ++i) y[i] = x[i] - most - log_sum;
  }
  template <class T>
  static void grad(const T* dy, const T* y, T* dx, Index n) {
    const T sum = static_cast<T>(sum_run(dy, n));
    exp_sum(y, n, T{0}, dx);
    for (Index i = 0; i < n; ++i) dx[i] = dy[i] - dx[i] * sum;
  }
};

template <class Op>
void add_op(Operators& all) {
  all.declare(Op::name, {SavedForBackward::outputs});
  add_streamed(all, Op::name, {"dense"}, 1, [](const Call& call) -> Outputs {
    const Dense& x = call.in[0].as<Dense>();
    const Index axis = softmax_axis(Op::name, call);
    return with_real(Op::name, x.dtype(), [&]<class T>(T) -> Outputs {
      return {write_rows<T>(call.out(), x, x, axis,
                            [](const T* in, const T*, T* to, Index n) { Op::row(in, to, n); })};
    });
  });
  static const std::string grad = std::string(Op::name) + ".grad";
  add_streamed(all, grad, {"dense", "dense"}, 1, [](const Call& call) -> Outputs {
    if (!call.wants(0)) return {std::nullopt};
    const Dense &dy = call.in[0].as<Dense>(), &y = call.in[1].as<Dense>();
    const Index axis = softmax_axis(grad, call);
    return with_real(grad, dy.dtype(), [&]<class T>(T) -> Outputs {
      return {write_rows<T>(call.out(), dy, y, axis, Op::template grad<T>)};
    });
  });
}

}  // namespace

void add_softmax(Operators& all) {
  add_op<Softmax>(all);
  add_op<LogSoftmax>(all);
}

}  // namespace sten
