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
// The scalar gradient of a loss.
inline double scalar_of(std::string_view op, const Dense& dy) {
  check_gradient(op, dy, {});
  return with_real(op, dy.dtype(), [&]<class T>(T) { return double{dy.values.as<T>()[0]}; });
}

// Error (usage) unless logits are [..., C] and targets [...].
inline void check_classes(std::string_view op, const Dense& logits, const Dense& targets) {
  Shape rows = logits.extents;
  if (!rows.empty()) rows.pop_back();
  if (logits.extents.empty() || targets.extents != rows)
    fail_usage("{}: logits and targets must be [..., C] and [...], got {} and {}", op,
               to_string(logits.extents), to_string(targets.extents));
}
inline Index ignored_class(const Attributes& attributes) {
  return attributes.integer("ignore", -100);
}
// The class indices, below n. Error (usage) for other values than these and `ignore`.
inline std::vector<Index> named_classes(std::string_view op, const Dense& given, Index n,
                                        Index ignore) {
  std::vector<Index> targets = integers_of(op, "targets", given);
  for (std::size_t r = 0; r < targets.size(); ++r)
    if (targets[r] != ignore && (targets[r] < 0 || targets[r] >= n))
      fail_usage("{}: targets[{}] must be in [0, {}), got {}", op, r, n, targets[r]);
  return targets;
}

// The smoothing of cross-entropy.
inline double smoothing_of(const char* op, const Call& call) {
  call.attributes.check(op, {"ignore", "smoothing"});
  const double e = call.attributes.number("smoothing", 0);
  if (!(e >= 0 && e < 1)) fail_usage("{}: smoothing must be in [0, 1), got {}", op, e);
  return e;
}
// The temperature of kl-divergence.
inline double temperature_of(const char* op, const Call& call) {
  call.attributes.check(op, {"ignore", "temperature"});
  const double t = call.attributes.number("temperature", 1);
  if (!(t > 0)) fail_usage("{}: temperature must be > 0, got {}", op, t);
  return t;
}

// Logits [..., C] and targets [...]. Targets equal to the attribute "ignore" (-100) are not
// counted. Error (usage) for shapes that do not fit, and for a target that is not one of C classes.
struct Classified {
  const Dense& logits;
  std::vector<Index> targets;
  Index ignore, n = 0;  // classes
  Index counted = 0;    // rows

  Classified(std::string_view op, const Attributes& attributes, const Dense& x, const Dense& given)
      : logits(x), ignore(ignored_class(attributes)) {
    check_classes(op, logits, given);
    n = logits.extents.back();
    targets = named_classes(op, given, n, ignore);
    counted = std::ssize(targets) - std::ranges::count(targets, ignore);
  }

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
