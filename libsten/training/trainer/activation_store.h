// SPDX-License-Identifier: Apache-2.0
// The activations of all batches at one point of a model.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "libsten/core/tensor/tensor.h"

namespace sten {

// A value in the dense model, and in the pruned one if it differs there.
struct Activation {
  Tensor dense;
  std::optional<Tensor> pruned;

  const Tensor& in_pruned() const { return pruned ? *pruned : dense; }
};
// By the number of the value in the graph.
using BatchActivations = std::map<std::size_t, Activation>;

// Whether activations are stored in bfloat16. float32_bytes: of all batches, in float32.
constexpr bool are_stored_rounded(Index float32_bytes) { return float32_bytes > Index{128} << 20; }
Activation rounded(const Activation& a);  // to bfloat16
Activation widened(const Activation& a);
Index bytes_of(const BatchActivations& activations);

// A point of a walk: all nodes before `node` are computed, and their layers pruned.
struct WalkPoint {
  std::size_t node = 0;
  Index most_bytes = 0;  // of the values of one batch at this point and earlier ones
  Index positions = 0;   // samples of the first layer
};

class ActivationStore {
 public:
  virtual ~ActivationStore() = default;
  // The point where the walk begins: that of the activations in store.
  virtual WalkPoint begin() const { return {}; }
  virtual BatchActivations load(std::size_t batch) const = 0;
  // Stores the activations at the next point; the batch is not loaded again before advance().
  virtual void store(std::size_t batch, BatchActivations activations) = 0;
  // All batches are stored at the point, whose layers before it are pruned. `can_resume`: a walk
  // can begin there.
  virtual void advance(const WalkPoint& point, bool can_resume) = 0;
};

// In memory, from the first node.
class ActivationsInMemory final : public ActivationStore {
 public:
  explicit ActivationsInMemory(std::size_t batches) : batches_(batches) {}

  BatchActivations load(std::size_t batch) const override { return batches_[batch]; }
  void store(std::size_t batch, BatchActivations activations) override {
    batches_[batch] = std::move(activations);
  }
  void advance(const WalkPoint&, bool) override {}

 private:
  std::vector<BatchActivations> batches_;
};

}  // namespace sten
