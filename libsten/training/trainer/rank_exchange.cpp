// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/rank_exchange.h"

#include <bit>

#include "libsten/core/base/hash.h"
#include "libsten/core/base/text.h"
#include "libsten/training/comm/together.h"
#include "libsten/training/trainer/deferred_metrics.h"
#include "libsten/training/trainer/device_sums.h"

namespace sten {
namespace {

std::uint64_t hash_of_positions(const Tensor& w) {
  return hash_bytes(0, w.stored().bits.to(Device::cpu).bytes());
}

Transport transport_of(const Recipe& r) { return transport_from(r.exchange.transport).value(); }

}  // namespace

// On one machine, the processors that compute also copy messages, so overlap gains nothing.
bool RankExchange::overlaps() const {
  const std::string& when = weights_.task.recipe().exchange.overlap;
  return when == "always" || (when == "auto" && !ranks_->is_one_machine());
}

bool RankExchange::exchanges_on_device() {
  if (weights_.device == Device::cpu || transport_of(weights_.task.recipe()) != Transport::float32)
    return false;
  if (!exchanges_on_device_) exchanges_on_device_ = sums_from_device(*ranks_);
  return *exchanges_on_device_;
}

StepExchange RankExchange::start(StepExchange::Gradients& gradients) {
  if (ranks_->size() > 1) check_positions();
  const Recipe& r = weights_.task.recipe();
  std::optional<CompressedExchange> compressed;
  if (r.exchange.compresses()) compressed.emplace(*ranks_, weights_);
  return {*ranks_,   transport_of(r),      weights_.device, exchanges_on_device(),
          gradients, std::move(compressed)};
}

double RankExchange::sum_loss(double share) const {
  const std::vector<std::uint64_t> shares = ranks_->gather(std::bit_cast<std::uint64_t>(share));
  double loss = 0;
  for (const std::uint64_t each : shares) loss += std::bit_cast<double>(each);
  check_loss(weights_.state.step, loss);
  return loss;
}

void RankExchange::complete(StepExchange::Gradients& gradients,
                            const std::function<Tensor(std::size_t)>& zero) const {
  const bool has_none = gradients.empty();
  gradients.resize(weights_.state.parameters.size());
  std::vector<float> received(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) received[i] = gradients[i] ? 1.0F : 0.0F;
  ranks_->sum(received);
  if (!has_none) return;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (received[i] != 0) gradients[i] = zero(i);
}

// Ranks with equal weights choose equal positions. Sums of values at different positions would be
// wrong without notice.
void RankExchange::check_positions() {
  if (checked_ == weights_.selections) return;
  checked_ = weights_.selections;
  for (std::size_t i = 0; i < weights_.sparsity.size(); ++i) {
    const Parameter& p = weights_.state.parameters[i];
    if (!weights_.sparsity[i].stages || p.value.is<Dense>()) continue;
    if (const int other = differing_rank(*ranks_, hash_of_positions(p.value)))
      fail("step {}: positions of {} on rank {} differ from rank 0", weights_.state.step,
           quote(p.name), other);
  }
}

void RankExchange::check_weights() const {
  if (ranks_->size() == 1) return;
  std::uint64_t hash = 0;
  for (const Parameter& p : weights_.state.parameters)
    hash = hash_bytes(hash, p.value.values()->to(Device::cpu).bytes());
  if (const int other = differing_rank(*ranks_, hash))
    fail("step {}: weights of rank {} differ from rank 0 (the processor or memory may be faulty)",
         weights_.state.step, other);
}

}  // namespace sten
