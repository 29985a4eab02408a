// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/step_exchange.h"

#include "libsten/core/layout/masked.h"
#include "libsten/training/optim/kept_values.h"

namespace sten {
namespace {

// The positions of a masked weight on the CPU, without its values; valid as long as the weight.
const Tensor& positions_here(const Tensor& w) {
  if (w.device() == Device::cpu) return w;
  struct Positions {
    Tensor of;
  };
  return w.of_positions()
      .get<Positions>([&] {
        const Masked& m = w.as<Masked>();
        return Positions{Masked{m.extents, Values(), m.mask.to(Device::cpu)}};
      })
      ->of;
}

}  // namespace

StepExchange::StepExchange(Communicator& ranks, Transport by, Device device, bool on_device,
                           Gradients& gradients, std::optional<CompressedExchange> compressed)
    : ranks_(ranks),
      by_(by),
      device_(device),
      gradients_(gradients),
      exchange_(ranks, by, on_device),
      compressed_(std::move(compressed)),
      before_(ranks.bytes()) {}

void StepExchange::add(std::size_t i, const Tensor& w, bool all_positions) {
  if (ranks_.size() == 1 && !compressed_) return;
  Tensor& g = *gradients_[i];
  // A format may have converted the kept values to a layout.
  const bool is_masked = w.is<Masked>() && has_dense_values(g) && !all_positions;
  const auto bytes = [&](Index numbers) {
    return static_cast<std::uint64_t>(numbers) * bytes_of(by_);
  };
  traffic_.dense += bytes(size_of(w.shape()));
  if (compressed_ && compressed_->add(i, g, all_positions)) return;
  if (!w.is<Dense>()) {
    traffic_.sparse_sent += bytes(is_masked ? kept_count(positions_here(w)) : g.values()->size());
    traffic_.sparse_dense += bytes(size_of(w.shape()));
  }
  exchange_.add(g, is_masked ? &positions_here(w) : nullptr);
}

GradientTraffic StepExchange::finish() {
  if (ranks_.size() == 1 && !compressed_) return {};
  exchange_.finish();
  if (compressed_) traffic_.compressed = compressed_->finish();
  for (auto& g : gradients_)
    if (g) g = g->to(device_);
  traffic_.sent = ranks_.bytes() - before_;
  traffic_.from_device =
      static_cast<std::uint64_t>(exchange_.from_device()) * bytes_of(Transport::float32);
  return traffic_;
}

}  // namespace sten
