// SPDX-License-Identifier: Apache-2.0
// Buffers: tensors of a state dict that are not weights of the graph.
#pragma once
#include "libsten/training/task/task.h"

namespace sten {

// Buffers of the checkpoint that training starts from.
class Buffers {
 public:
  explicit Buffers(const Task& task);

  // Returns tensors by their names in the checkpoint, for save_weights(): untrained tensors,
  // num_batches_tracked of batch norms after `batches` more batches, and copies of weights under
  // the other names that the checkpoint has for them.
  NamedValues<Tensor> after(Index batches, const NamedValues<Tensor>& weights) const;

 private:
  NamedValues<Tensor> values_;                        // in memory of their own
  std::vector<std::string> counts_;                   // counts of batches of running statistics
  std::map<std::string, std::string> further_names_;  // other names of weights
};

}  // namespace sten
