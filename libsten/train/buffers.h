// What a state dict has beside the weights that a graph computes with.
#pragma once
#include "libsten/train/task.h"

namespace sten {

// Of the checkpoint that training starts from.
class Buffers {
 public:
  explicit Buffers(const Task& task);

  // Tensors by their names in the checkpoint, for save_weights(): those that training leaves alone,
  // num_batches_tracked of batch norms after so many more batches, and weights under further names
  // where the checkpoint has them twice.
  NamedValues<Tensor> after(Index batches, const NamedValues<Tensor>& weights) const;

 private:
  NamedValues<Tensor> values_;                        // in memory of their own
  std::vector<std::string> counts_;                   // of them: batches of followed statistics
  std::map<std::string, std::string> further_names_;  // of weights
};

}  // namespace sten
