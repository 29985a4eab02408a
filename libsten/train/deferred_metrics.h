// Losses and norms of steps that a device has computed and nobody has read back yet.
#pragma once
#include <vector>

#include "libsten/tensor/tensor.h"

namespace sten {

// Error that names the step where the number is not finite.
void check_loss(Index step, double loss);
void check_norm(Index step, double norm);

class DeferredMetrics {
 public:
  // Of as many steps at a time, and parts of a batch.
  DeferredMetrics(Index steps, Index parts);

  void begin(Index step);
  // One number on the device, of a part of the batch, which has this share of it.
  void add_loss(const Tensor& loss, double share);
  // Where the device is to write that of the step's gradients.
  double* norm_destination();

  bool is_full() const { return std::ssize(pending_) == steps_; }
  bool is_empty() const { return pending_.empty(); }
  struct Metrics {
    double loss = 0, norm = 0;
  };
  // Of the last step; waits for it. Error for the first step whose numbers are not finite, also when
  // it is asked again.
  Metrics read();

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
};

}  // namespace sten
