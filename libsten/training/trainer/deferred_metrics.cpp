// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/deferred_metrics.h"

#include <cmath>

#include "libsten/core/base/error.h"

namespace sten {
namespace {

// For messages: the sign of NaN differs between devices.
double unsigned_nan(double v) { return std::isnan(v) ? std::abs(v) : v; }

}  // namespace

void check_loss(Index step, double loss) {
  if (!std::isfinite(loss))
    fail("step {}: the loss is {} (try a lower optimizer.rate, a longer rate.warmup or clip)", step,
         unsigned_nan(loss));
}

void check_norm(Index step, double norm) {
  if (!std::isfinite(norm))
    fail("step {}: the gradient norm is {} (try a lower optimizer.rate or a longer rate.warmup)",
         step, unsigned_nan(norm));
}

DeferredMetrics::DeferredMetrics(Index steps, Index parts)
    : steps_(steps),
      parts_(parts),
      losses_(static_cast<std::size_t>(steps * parts), Device::cuda),
      norms_(static_cast<std::size_t>(steps), Device::cuda) {}

void DeferredMetrics::begin(Index step) { pending_.push_back({step}); }

void DeferredMetrics::add_loss(const Tensor& loss, double share) {
  std::vector<double>& shares = pending_.back().shares;
  const Index at = (std::ssize(pending_) - 1) * parts_ + std::ssize(shares);
  copy_bytes(losses_.mutate() + at, Device::cuda, loss.values()->bytes().data(), loss.device(),
             sizeof(float));
  shares.push_back(share);
}

double* DeferredMetrics::norm_destination() {
  pending_.back().has_norm = true;
  return norms_.mutate() + (std::ssize(pending_) - 1);
}

const DeferredMetrics::Metrics& DeferredMetrics::read() {
  const Array<float> losses = losses_.to(Device::cpu);
  const Array<double> norms = norms_.to(Device::cpu);
  Metrics last = last_;
  for (std::size_t k = 0; k < pending_.size(); ++k) {
    const Pending& p = pending_[k];
    if (p.shares.empty()) continue;  // a batch without predictions
    last = {};
    for (std::size_t i = 0; i < p.shares.size(); ++i)
      last.loss += p.shares[i] * double{losses[k * static_cast<std::size_t>(parts_) + i]};
    check_loss(p.step, last.loss);
    if (p.has_norm) last.norm = norms[k];
    check_norm(p.step, last.norm);
  }
  pending_.clear();
  return last_ = last;
}

}  // namespace sten
