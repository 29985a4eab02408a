// SPDX-License-Identifier: Apache-2.0
// Compressed exchange: each rank sends selected values of its gradients with their positions.
#pragma once
#include <utility>
#include <vector>

#include "libsten/training/comm/communicator.h"
#include "libsten/training/trainer/trained_weights.h"

namespace sten {

// Whether gradients of weights of this shape can be compressed: those of rank 2 or more. Biases and
// norms are small, and sent whole.
bool is_compressible(const Shape& weight);

// Error (usage) with the key unless the sparsifier of the recipe's exchange, if it has one, can
// select from the gradients of all compressible weights.
void check_compression(const TrainedWeights& weights);

// Sums gradients of dense weights over the values that each rank selects by the sparsifier of the
// recipe. With error feedback, a rank adds the values that it does not send, the residual, to its
// gradient of the next step: Stich, Cordonnier, Jaggi, "Sparsified SGD with Memory" (2018), and Lin
// et al., "Deep Gradient Compression" (2018), without the latter's momentum correction.
//
// All gradients of a step are one all-gather. A rank's message has, for each gradient of n values,
// the number k of its sent values, their positions and the values, in words of 4 bytes. Positions
// are k indices, or n bits if these are fewer words.
class CompressedExchange {
 public:
  // `weights` must outlive this object.
  CompressedExchange(Communicator& ranks, TrainedWeights& weights)
      : ranks_(ranks), weights_(weights) {}

  // Adds the gradient of parameter i, to which the residual is added, and returns true; it is
  // replaced by the sum in finish(), and must outlive this object. Returns false for a gradient that
  // is sent whole: of a weight that is not compressible or not dense, in a layout other than dense,
  // and in a step with all_positions, whose gradient determines a mask.
  bool add(std::size_t i, Tensor& gradient, bool all_positions);
  // Sums in the order of ranks. Returns the number of bytes of this rank's message.
  std::uint64_t finish();

 private:
  Sparsifier sparsifier(const std::string& weight) const;

  Communicator& ranks_;
  TrainedWeights& weights_;
  std::vector<Tensor*> gradients_;
  std::vector<std::uint32_t> message_;
};

}  // namespace sten
