#include <cmath>

#include "libsten/ops/check.h"
#include "libsten/ops/numbers.h"
#include "libsten/ops/output.h"
#include "libsten/ops/register.h"
#include "libsten/ops/softmax_row.h"

namespace sten {
namespace {

template <class T>
Tensor scalar(double v) {
  Dense y = unwritten<T>({});
  y.values.mutate<T>()[0] = static_cast<T>(v);
  return y;
}
double scalar_of(std::string_view op, const Dense& dy) {
  check_gradient(op, dy, {});
  return with_real(op, dy.dtype(), [&]<class T>(T) { return double{dy.values.as<T>()[0]}; });
}

// ------------------------------------------------------------------------------ cross-entropy

struct Classified {
  const Dense& logits;
  std::vector<Index> targets;
  Index ignore, n = 0;  // classes
  Index counted = 0;    // rows

  Classified(const char* op, const Call& call, std::size_t first)
      : logits(call.in[first].as<Dense>()) {
    call.attributes.check(op, {"ignore"});
    ignore = call.attributes.integer("ignore", -100);
    const Dense& given = call.in[first + 1].as<Dense>();
    Shape rows = logits.extents;
    if (!rows.empty()) rows.pop_back();
    if (logits.extents.empty() || given.extents != rows)
      fail_usage("{}: logits are {} but targets {}; they have to be [..., C] and [...]", op,
                 to_string(logits.extents), to_string(given.extents));
    n = logits.extents.back();
    targets = integers_of(op, "targets", given);
    for (std::size_t r = 0; r < targets.size(); ++r) {
      if (targets[r] == ignore) continue;
      ++counted;
      if (targets[r] < 0 || targets[r] >= n)
        fail_usage("{}: targets[{}] is {}, which is none of {} classes", op, r, targets[r], n);
    }
  }
};

// -log softmax(x)[target]
template <class T>
double row_loss(const T* x, Index n, Index target) {
  const T most = max_run(x, n);
  return std::log(exp_sum(x, n, most, nullptr)) + (double{most} - x[target]);
}

Outputs cross_entropy(const Call& call) {
  const Classified c("cross-entropy", call, 0);
  return with_real("cross-entropy", c.logits.dtype(), [&]<class T>(T) -> Outputs {
    const T* x = c.logits.values.as<T>().data();
    std::vector<double> losses(c.targets.size());
    parallel_for(std::ssize(losses), 16, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r)
        if (c.targets[r] != c.ignore) losses[r] = row_loss(x + r * c.n, c.n, c.targets[r]);
    });
    const double sum = sum_run(losses.data(), std::ssize(losses));
    return {scalar<T>(c.counted ? sum / static_cast<double>(c.counted) : 0)};
  });
}

// softmax(x) - 1 at the target, for rows that count.
Outputs cross_entropy_grad(const Call& call) {
  Outputs out(2);
  if (!call.wants(0)) return out;
  const char* op = "cross-entropy.grad";
  const double dy = scalar_of(op, call.in[0].as<Dense>());
  const Classified c(op, call, 1);
  check_dtypes(op, "the gradient", call.in[0].dtype(), "logits", c.logits.dtype());
  const double by = c.counted ? dy / static_cast<double>(c.counted) : 0;
  with_real(op, c.logits.dtype(), [&]<class T>(T) {
    const T* in = c.logits.values.as<T>().data();
    const Index n = c.n;
    const auto row = [&](Index r, T* to) {
      const T *x = in + r * n, most = max_run(x, n);
      const double share = 1 / exp_sum(x, n, most, to);
      const Index target = c.targets[r];
      const double at_target = (to[target] * share - 1) * by;
      scale_row(to, n, static_cast<T>(share * by), to);
      to[target] = static_cast<T>(at_target);
    };
    out[0] =
        write_elements<T>(call.out(0), c.logits.extents, n, [&](Index begin, Index end, T* to) {
          for (Index i = begin; i < end; i += n, to += n) {
            if (c.targets[i / n] == c.ignore)
              std::fill_n(to, n, T{0});
            else
              row(i / n, to);
          }
        });
  });
  return out;
}

// ---------------------------------------------------------------------------------------- mse

Outputs mse(const Call& call) {
  call.attributes.check("mse", {});
  const Dense &x = call.in[0].as<Dense>(), &y = call.in[1].as<Dense>();
  check_alike("mse", "x", x, "y", y);
  return with_real("mse", x.dtype(), [&]<class T>(T) -> Outputs {
    const T *a = x.values.as<T>().data(), *b = y.values.as<T>().data();
    const double sum = sum_on_threads(x.size(), [&](Index i) {
      const double d = double{a[i]} - b[i];
      return d * d;
    });
    return {scalar<T>(sum / static_cast<double>(x.size()))};
  });
}

Outputs mse_grad(const Call& call) {
  call.attributes.check("mse.grad", {});
  const double dy = scalar_of("mse.grad", call.in[0].as<Dense>());
  const Dense &x = call.in[1].as<Dense>(), &y = call.in[2].as<Dense>();
  check_alike("mse.grad", "x", x, "y", y);
  check_dtypes("mse.grad", "the gradient", call.in[0].dtype(), "x", x.dtype());
  return with_real("mse.grad", x.dtype(), [&]<class T>(T) -> Outputs {
    const T *a = x.values.as<T>().data(), *b = y.values.as<T>().data();
    Outputs out(2);
    for (std::size_t k = 0; k < 2; ++k) {
      if (!call.wants(k)) continue;
      const T by = static_cast<T>((k == 0 ? 2 : -2) * dy / static_cast<double>(x.size()));
      out[k] = write_elements<T>(call.out(k), x.extents, [&](Index begin, Index end, T* to) {
        for (Index i = begin; i < end; ++i) to[i - begin] = by * (a[i] - b[i]);
      });
    }
    return out;
  });
}

}  // namespace

void add_losses(Operators& all) {
  all.declare("cross-entropy", {Keeps::inputs});
  all.add({"cross-entropy", {"dense", "dense"}, {{}}}, cross_entropy);
  add_streamed(all, "cross-entropy.grad", std::vector<Name>(3, "dense"), 2, cross_entropy_grad);
  all.declare("mse", {Keeps::inputs});
  all.add({"mse", {"dense", "dense"}, {{}}}, mse);
  add_streamed(all, "mse.grad", std::vector<Name>(3, "dense"), 2, mse_grad);
}

}  // namespace sten
