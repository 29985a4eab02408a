// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/losses/loss.h"

#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

// ------------------------------------------------------------------------------ cross-entropy

Outputs cross_entropy(const Call& call) {
  const char* op = "cross-entropy";
  const CrossEntropyCall given(op, call, 0);
  const double smoothing = given.smoothing;
  const Classified c(op, given);
  return with_real(op, c.logits.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = c.logits.values.as<T>().data();
    return {c.mean<T>([&](Index r, Index target) {
      const T *x = in + r * c.n, most = max_run(x, c.n);
      const double log_sum = std::log(exp_sum(x, c.n, most, nullptr));
      const double loss = log_sum + (double{most} - x[target]);
      if (smoothing == 0) return loss;
      const double mean = sum_run(x, c.n) / static_cast<double>(c.n);
      return (1 - smoothing) * loss + smoothing * (log_sum + (double{most} - mean));
    })};
  });
}

// softmax(x) minus the wanted distribution: with smoothing, slightly less than 1 at the target and
// the rest everywhere.
Outputs cross_entropy_grad(const Call& call) {
  Outputs out(2);
  if (!call.wants(0)) return out;
  const char* op = "cross-entropy.grad";
  const CrossEntropyCall given(op, call, 1);
  const double smoothing = given.smoothing;
  const Classified c(op, given);
  const double by = c.counted ? scalar_gradient(op, call) / static_cast<double>(c.counted) : 0;
  with_real(op, c.logits.dtype(), [&]<class T>(T) {
    const T* in = c.logits.values.as<T>().data();
    const Index n = c.n;
    const double everywhere = smoothing / static_cast<double>(n);
    out[0] = c.gradient<T>(call.out(0), [&](Index r, Index target, T* to) {
      const T *x = in + r * n, most = max_run(x, n);
      const double share = 1 / exp_sum(x, n, most, to);
      const double at_target = (to[target] * share - (1 - smoothing) - everywhere) * by;
      scale_row(to, n, static_cast<T>(share * by), to);
      if (smoothing > 0)
        for (Index i = 0; i < n; ++i) to[i] -= static_cast<T>(everywhere * by);
      to[target] = static_cast<T>(at_target);
    });
  });
  return out;
}

// ------------------------------------------------------------------------------ kl-divergence

// A row of logits at a temperature: its softmax, and the log of the sum of exponentials.
template <class T>
struct Softened {
  std::vector<T> x, p;
  double log_sum = 0;

  explicit Softened(Index n) : x(static_cast<std::size_t>(n)), p(x) {}
  void set(const T* logits, double temperature) {
    const Index n = std::ssize(x);
    scale_row(logits, n, static_cast<T>(1 / temperature), x.data());
    const T most = max_run(x.data(), n);
    const double sum = exp_sum(x.data(), n, most, p.data());
    scale_row(p.data(), n, static_cast<T>(1 / sum), p.data());
    log_sum = std::log(sum) + double{most};
  }
};

// sum over i of p_i (log p_i - log q_i)
template <class T>
double divergence(const Softened<T>& p, const Softened<T>& q) {
  const double apart = sum_of(std::ssize(p.x), [&](Index i) {
    return double{p.p[static_cast<std::size_t>(i)]} *
           (double{p.x[static_cast<std::size_t>(i)]} - q.x[static_cast<std::size_t>(i)]);
  });
  return apart - p.log_sum + q.log_sum;
}

Outputs kl_divergence(const Call& call) {
  const char* op = "kl-divergence";
  const KlDivergenceCall d(op, call, 0);
  const Classified rows(op, d);
  return with_real(op, d.logits.dtype(), [&]<class T>(T) -> Outputs {
    const T *x = d.logits.values.as<T>().data(), *y = d.wanted.values.as<T>().data();
    const Index n = d.n;
    return {rows.mean<T>([&](Index r, Index) {
      Softened<T> q(n), p(n);
      q.set(x + r * n, d.temperature);
      p.set(y + r * n, d.temperature);
      return d.temperature * d.temperature * divergence(p, q);
    })};
  });
}

Outputs kl_divergence_grad(const Call& call) {
  Outputs out(3);
  const char* op = "kl-divergence.grad";
  const KlDivergenceCall d(op, call, 1);
  const Classified rows(op, d);
  const double dy = scalar_gradient(op, call);
  const double by = rows.counted ? d.temperature * dy / static_cast<double>(rows.counted) : 0;
  with_real(op, d.logits.dtype(), [&]<class T>(T) {
    const T *x = d.logits.values.as<T>().data(), *y = d.wanted.values.as<T>().data();
    const Index n = d.n;
    for (std::size_t k = 0; k < 2; ++k) {
      if (!call.wants(k)) continue;
      out[k] = rows.gradient<T>(call.out(k), [&](Index r, Index, T* to) {
        Softened<T> q(n), p(n);
        q.set(x + r * n, d.temperature);
        p.set(y + r * n, d.temperature);
        // The mean of log p - log q under p.
        const double mean = k == 0 ? 0 : divergence(p, q) + p.log_sum - q.log_sum;
        for (std::size_t i = 0; i < p.p.size(); ++i) {
          const double g =
              k == 0 ? double{q.p[i]} - p.p[i] : p.p[i] * ((double{p.x[i]} - q.x[i]) - mean);
          to[i] = static_cast<T>(by * g);
        }
      });
    }
  });
  return out;
}

// ---------------------------------------------------------------------------------------- mse

Outputs mse(const Call& call) {
  const MseCall given("mse", call, 0);
  const Dense &x = given.x, &y = given.y;
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
  const MseCall given("mse.grad", call, 1);
  const Dense &x = given.x, &y = given.y;
  const double dy = scalar_gradient("mse.grad", call);
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
  all.declare("cross-entropy", {SavedForBackward::inputs});
  all.add({"cross-entropy", {"dense", "dense"}, {{}}}, cross_entropy);
  add_streamed(all, "cross-entropy.grad", std::vector<Name>(3, "dense"), 2, cross_entropy_grad);
  all.declare("kl-divergence", {SavedForBackward::inputs});
  all.add({"kl-divergence", std::vector<Name>(3, "dense"), {{}}}, kl_divergence);
  add_streamed(all, "kl-divergence.grad", std::vector<Name>(4, "dense"), 3, kl_divergence_grad);
  all.declare("mse", {SavedForBackward::inputs});
  all.add({"mse", {"dense", "dense"}, {{}}}, mse);
  add_streamed(all, "mse.grad", std::vector<Name>(3, "dense"), 2, mse_grad);
}

}  // namespace sten
