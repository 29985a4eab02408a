// SPDX-License-Identifier: Apache-2.0
// Helpers of losses: scalars, and logits with a class per row.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/indices.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/norms/softmax_row.h"

namespace sten {

template <class T>
Tensor scalar(double v) {
  Dense y = unwritten<T>({});
  y.values.mutate<T>()[0] = static_cast<T>(v);
  return y;
}
// The scalar gradient of a loss, input 0 of a call.
inline double scalar_gradient(std::string_view op, const Call& call) {
  const Dense& dy = call.in[0].as<Dense>();
  return with_real(op, dy.dtype(), [&]<class T>(T) { return double{dy.values.as<T>()[0]}; });
}

// The operands from input `first` on and the attributes of a loss; with first = 1 of its gradient,
// whose input 0 is the scalar gradient of the loss. Logits are [..., C], targets, the last input,
// [...]. Error (usage) if these do not fit; the values of targets are not checked.
struct ClassLossCall {
  const Dense& logits;
  const Tensor& targets;
  Index n = 0, ignore;  // classes, and the target that is not counted

 protected:
  ClassLossCall(const char* op, const Call& call, std::size_t first)
      : logits(call.in[first].as<Dense>()),
        targets(call.in.back()),
        ignore(call.attributes.integer("ignore", -100)) {
    if (first == 1) check_gradient(op, call.in[0].as<Dense>(), {});
    Shape rows = logits.extents;
    if (!rows.empty()) rows.pop_back();
    if (logits.extents.empty() || targets.shape() != rows)
      fail_usage("{}: logits and targets must be [..., C] and [...], got {} and {}", op,
                 to_string(logits.extents), to_string(targets.shape()));
    n = logits.extents.back();
    if (first == 1) check_dtypes(op, "the gradient", call.in[0].dtype(), "logits", logits.dtype());
  }
};
struct CrossEntropyCall : ClassLossCall {
  double smoothing;

  CrossEntropyCall(const char* op, const Call& call, std::size_t first)
      : ClassLossCall(op, call, first), smoothing(call.attributes.number("smoothing", 0)) {
    call.attributes.check(op, {"ignore", "smoothing"});
    if (!(smoothing >= 0 && smoothing < 1))
      fail_usage("{}: smoothing must be in [0, 1), got {}", op, smoothing);
  }
};
struct KlDivergenceCall : ClassLossCall {
  const Dense& wanted;
  double temperature;

  KlDivergenceCall(const char* op, const Call& call, std::size_t first)
      : ClassLossCall(op, call, first),
        wanted(call.in[first + 1].as<Dense>()),
        temperature(call.attributes.number("temperature", 1)) {
    call.attributes.check(op, {"ignore", "temperature"});
    if (!(temperature > 0)) fail_usage("{}: temperature must be > 0, got {}", op, temperature);
    check_alike(op, "logits", logits, "those wanted", wanted);
  }
};
struct MseCall {
  const Dense &x, &y;

  MseCall(const char* op, const Call& call, std::size_t first)
      : x(call.in[first].as<Dense>()), y(call.in[first + 1].as<Dense>()) {
    call.attributes.check(op, {});
    if (first == 1) check_gradient(op, call.in[0].as<Dense>(), {});
    check_alike(op, "x", x, "y", y);
    if (first == 1) check_dtypes(op, "the gradient", call.in[0].dtype(), "x", x.dtype());
  }
};

// The class indices, below n. Error (usage) for other values than these and `ignore`.
inline std::vector<Index> named_classes(std::string_view op, const Dense& given, Index n,
                                        Index ignore) {
  std::vector<Index> targets = integers_of(op, "targets", given);
  for (std::size_t r = 0; r < targets.size(); ++r)
    if (targets[r] != ignore && (targets[r] < 0 || targets[r] >= n))
      fail_usage("{}: targets[{}] must be in [0, {}), got {}", op, r, n, targets[r]);
  return targets;
}

// The rows of logits whose target is counted.
struct Classified {
  const Dense& logits;
  std::vector<Index> targets;
  Index ignore, n;
  Index counted;  // rows

  Classified(std::string_view op, const ClassLossCall& of)
      : logits(of.logits),
        targets(named_classes(op, of.targets.as<Dense>(), of.n, of.ignore)),
        ignore(of.ignore),
        n(of.n),
        counted(std::ssize(targets) - std::ranges::count(targets, ignore)) {}

  bool counts(Index row) const { return targets[static_cast<std::size_t>(row)] != ignore; }

  // The mean of row(r, target) over counted rows; 0 if there are none.
  template <class T, class F>
  Tensor mean(const F& row) const {
    std::vector<double> losses(targets.size());
    parallel_for(std::ssize(losses), 16, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r)
        if (counts(r))
          losses[static_cast<std::size_t>(r)] = row(r, targets[static_cast<std::size_t>(r)]);
    });
    const double sum = sum_run(losses.data(), std::ssize(losses));
    return scalar<T>(counted ? sum / static_cast<double>(counted) : 0);
  }
  // The gradient: row(r, target, to) writes the C elements of a counted row; others are 0.
  template <class T, class F>
  Tensor gradient(const OutFormat& format, const F& row) const {
    return write_elements<T>(format, logits.extents, n, [&](Index begin, Index end, T* to) {
      for (Index i = begin; i < end; i += n, to += n) {
        if (counts(i / n))
          row(i / n, targets[static_cast<std::size_t>(i / n)], to);
        else
          std::fill_n(to, n, T{0});
      }
    });
  }
};

}  // namespace sten
