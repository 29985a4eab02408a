// SPDX-License-Identifier: Apache-2.0
// Gradient exchange of one training step, with its traffic.
#pragma once
#include <optional>
#include <vector>

#include "libsten/training/trainer/compressed_exchange.h"
#include "libsten/training/trainer/gradient_exchange.h"

namespace sten {

// Bytes of gradients that a rank sends in a step, and that it would send if all were dense: for all
// weights, and for weights that are sparse in the step. `from_device`: bytes sent from device
// memory. `compressed`: bytes of compressed gradients with their positions.
struct GradientTraffic {
  std::uint64_t sent = 0, dense = 0, sparse_sent = 0, sparse_dense = 0, from_device = 0;
  std::uint64_t compressed = 0;
};

// Replaces the gradients of a step by their sums over ranks. All ranks add the same gradients in
// the same order. With one rank, nothing is done unless gradients are compressed; then the bytes
// are those of a rank among several.
class StepExchange {
 public:
  using Gradients = std::vector<std::optional<Tensor>>;  // by parameter

  // The sums are moved to `device`. on_device: as `from_device` of GradientExchange. `ranks` and
  // `gradients` must outlive this object. `compressed`: none, if gradients are not compressed.
  StepExchange(Communicator& ranks, Transport by, Device device, bool on_device,
               Gradients& gradients, std::optional<CompressedExchange> compressed);
  // Adds the gradient of parameter i, whose value is w. all_positions: also those that a masked w
  // prunes.
  void add(std::size_t i, const Tensor& w, bool all_positions);
  GradientTraffic finish();

 private:
  Communicator& ranks_;
  const Transport by_;
  const Device device_;
  Gradients& gradients_;
  GradientExchange exchange_;
  std::optional<CompressedExchange> compressed_;
  GradientTraffic traffic_{};
  const std::uint64_t before_;  // bytes
};

}  // namespace sten
