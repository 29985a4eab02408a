// Exchange between ranks in a training step.
#include <bit>
#include <cmath>

#include "libsten/core/base/hash.h"
#include "libsten/core/base/text.h"
#include "libsten/training/comm/together.h"
#include "libsten/training/optim/kept_values.h"
#include "libsten/training/trainer/device_sums.h"
#include "libsten/training/trainer/trainer.h"

namespace sten {
namespace {

std::uint64_t hash_of_positions(const Tensor& w) {
  return hash_bytes(0, w.stored().bits.to(Device::cpu).bytes());
}

Transport transport_of(const Trainer& t) {
  return transport_from(t.task().recipe().exchange.transport).value();
}

}  // namespace

// Averages the loss over the ranks by their shares of the batch. Error on all ranks if it is not
// finite.
void Trainer::agree_on_loss(TrainStep& step) const {
  const std::vector<std::uint64_t> losses = ranks_->gather(std::bit_cast<std::uint64_t>(step.loss));
  step.loss = 0;
  for (const std::uint64_t loss : losses) step.loss += std::bit_cast<double>(loss);
  check_loss(weights_.state.step, step.loss);
}

bool Trainer::exchanges_on_device() {
  if (device_ == Device::cpu || transport_of(*this) != Transport::float32) return false;
  if (!exchanges_on_device_) exchanges_on_device_ = sums_from_device(*ranks_);
  return *exchanges_on_device_;
}

StepExchange Trainer::exchange_of(Gradients& gradients) {
  if (ranks_->size() > 1) check_positions();
  return {*ranks_, transport_of(*this), device_, exchanges_on_device(), gradients};
}

// A rank whose parts have no predictions adds zeros for weights that have a gradient on other
// ranks.
void Trainer::complete(Gradients& gradients) const {
  const bool has_none = gradients.empty();
  gradients.resize(weights_.state.parameters.size());
  std::vector<float> received(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) received[i] = gradients[i] ? 1.0F : 0.0F;
  ranks_->sum(received);
  if (!has_none) return;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (received[i] != 0)
      gradients[i] = graph_.zero_gradient(i, weights_.state.parameters[i].value,
                                          weights_.needs_all_positions(i));
}

// Ranks with equal weights choose equal positions. Sums of values at different positions would be
// wrong without notice.
void Trainer::check_positions() {
  if (!has_new_positions_) return;
  has_new_positions_ = false;
  for (std::size_t i = 0; i < weights_.sparsity.size(); ++i) {
    const Parameter& p = weights_.state.parameters[i];
    if (!weights_.sparsity[i].stages || p.value.is<Dense>()) continue;
    if (const int other = differing_rank(*ranks_, hash_of_positions(p.value)))
      fail("step {}: positions of {} on rank {} differ from rank 0", weights_.state.step,
           quote(p.name), other);
  }
}

void Trainer::check_ranks() const {
  if (ranks_->size() == 1) return;
  std::uint64_t hash = 0;
  for (const Parameter& p : weights_.state.parameters)
    hash = hash_bytes(hash, p.value.values()->to(Device::cpu).bytes());
  if (const int other = differing_rank(*ranks_, hash))
    fail("step {}: weights of rank {} differ from rank 0 (the processor or memory may be faulty)",
         weights_.state.step, other);
}

}  // namespace sten
