// SPDX-License-Identifier: Apache-2.0
// Deferred metrics: losses and norms of steps on a device, which are read back later.
#pragma once
#include <vector>

#include "libsten/core/tensor/tensor.h"

namespace sten {

// Error with the step if the loss is not finite.
void check_loss(Index step, double loss);
void check_norm(Index step, double norm);

class DeferredMetrics {
 public:
  // For so many steps, and parts of a batch.
  DeferredMetrics(Index steps, Index parts);

  void begin(Index step);
  // Adds the loss of a part of the batch, a scalar on the device. `share`: the part's share of the
  // batch.
  void add_loss(const Tensor& loss, double share);
  // Where the device writes the norm of the step's gradients.
  double* norm_destination();

  bool is_full() const { return std::ssize(pending_) == steps_; }
  bool is_empty() const { return pending_.empty(); }
  struct Metrics {
    double loss = 0, norm = 0;
  };
  // Waits for the last step and returns its metrics. Error for the first step with a loss or norm
  // that is not finite, also in later calls.
  const Metrics& read();
  // Those of the last read step; 0 before.
  const Metrics& last() const { return last_; }

 private:
  struct Pending {
    Index step = 0;
    std::vector<double> shares{};
    bool has_norm = false;
  };

  Index steps_, parts_;
  Array<float> losses_;  // [steps, parts]
  Array<double> norms_;  // [steps]
  std::vector<Pending> pending_;
  Metrics last_;
};

}  // namespace sten
