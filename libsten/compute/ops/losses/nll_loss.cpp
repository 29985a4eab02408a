// SPDX-License-Identifier: Apache-2.0
// Negative log likelihood of classes: x[N, C, ...] from log-softmax, targets[N, ...], and optional
// weights [C].
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/indices.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/sum_axes.h"

namespace sten {
namespace {

enum class LossSum { none, sum, mean };

struct Likelihood {
  Shape shape;                  // of the targets
  std::vector<Index> at;        // offset in x per target
  std::vector<double> weights;  // 0 for ignored targets
  LossSum sum = LossSum::mean;
  double total = 0;  // sum of weights

  // For the operator and its gradient; targets are input 1.
  Likelihood(const char* op, const Call& call, const Shape& x) {
    call.attributes.check(op, {"ignore", "reduction"});
    check_inputs(op, call, 3);
    if (call.in.size() < 2) fail_usage("{}: missing input \"targets\"", op);
    const std::string reduction = call.attributes.word("reduction", "mean");
    if (reduction != "none" && reduction != "sum" && reduction != "mean")
      fail_usage("{}: unknown reduction '{}' (expected none, sum or mean)", op, reduction);
    if (reduction != "mean") sum = reduction == "sum" ? LossSum::sum : LossSum::none;
    const Dense& given = call.in[1].as<Dense>();
    shape = x;
    if (x.size() >= 2) shape.erase(shape.begin() + 1);
    if (x.size() < 2 || given.extents != shape)
      fail_usage("{}: x and targets must be [N, C, ...] and [N, ...], got {} and {}", op,
                 to_string(x), to_string(given.extents));
    const std::vector<Index> targets = integers_of(op, "targets", given);
    const Dense* weight = call.in.size() > 2 ? &call.in[2].as<Dense>() : nullptr;
    const Index classes = x[1], n = std::ssize(targets);
    if (weight && weight->extents != Shape{classes})
      fail_usage("{}: x is {} but the weight is {}: expected one element for each of {} classes",
                 op, to_string(x), to_string(weight->extents), classes);
    if (weight) check_dtypes(op, "x", call.in[0].dtype(), "the weight", weight->dtype());
    Index inner = 1;
    for (std::size_t d = 2; d < x.size(); ++d) inner *= x[d];
    at.resize(n);
    weights.resize(n);
    const bool ignores = call.attributes.has("ignore");
    const Index ignored = call.attributes.integer("ignore", 0);
    for (Index i = 0; i < n; ++i) {
      const Index t = targets[i];
      if (ignores && t == ignored) continue;
      if (t < 0 || t >= classes)
        fail_usage("{}: targets{} must be in [0, {}), got {}", op, index_text(i, shape), classes,
                   t);
      at[i] = (i / inner * classes + t) * inner + i % inner;
      weights[i] = weight ? with_real(op, weight->dtype(),
                                      [&]<class T>(T) { return double{weight->values.as<T>()[t]}; })
                          : 1;
      total += weights[i];
    }
  }
};

Tensor nll_loss(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  const Likelihood l("nll-loss", call, x.extents);
  return with_real("nll-loss", x.dtype(), [&]<class T>(T) -> Tensor {
    const T* from = x.values.as<T>().data();
    const auto loss = [&](Index i) {
      return l.weights[i] == 0 ? 0 : -l.weights[i] * from[l.at[i]];
    };
    const Index n = std::ssize(l.at);
    const bool is_each = l.sum == LossSum::none;
    Dense y = unwritten<T>(is_each ? l.shape : Shape{});
    const std::span<T> to = y.values.mutate<T>();
    if (is_each) {
      for (Index i = 0; i < n; ++i) to[i] = static_cast<T>(loss(i));
      return y;
    }
    const double sum = sum_of(n, loss);
    to[0] = static_cast<T>(l.sum == LossSum::sum ? sum : l.total == 0 ? 0 : sum / l.total);
    return y;
  });
}

Tensor nll_loss_grad(const Call& call) {
  const char* op = "nll-loss.grad";
  const Shape& x = input_shape(op, call, 0);
  const Likelihood l(op, call, x);
  const Dense& dy = call.in[0].as<Dense>();
  const bool is_each = l.sum == LossSum::none;
  check_gradient(op, dy, is_each ? l.shape : Shape{});
  const double by = l.sum != LossSum::mean ? 1 : l.total == 0 ? 0 : 1 / l.total;
  return with_real(op, dy.dtype(), [&]<class T>(T) -> Tensor {
    Dense dx = Dense::zeros(dy.dtype(), x);
    const T* g = dy.values.as<T>().data();
    const std::span<T> to = dx.values.mutate<T>();
    for (std::size_t i = 0; i < l.at.size(); ++i)
      if (l.weights[i] != 0) to[l.at[i]] = static_cast<T>(-l.weights[i] * by * g[is_each ? i : 0]);
    return dx;
  });
}

}  // namespace

void add_nll_loss(Operators& all) {
  add_plain(all, "nll-loss", SavedForBackward::others, nll_loss, nll_loss_grad);
}

}  // namespace sten
