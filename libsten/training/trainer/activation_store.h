// SPDX-License-Identifier: Apache-2.0
// The activations of all batches at one point of a model that is pruned, and at one of the dense
// model.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "libsten/core/tensor/tensor.h"

namespace sten {

// By the number of the value in the graph.
using BatchActivations = std::map<std::size_t, Tensor>;

// Activations with more bytes in float32 are stored in bfloat16, and more are stored only where they
// are few.
inline constexpr Index most_stored_bytes = Index{192} << 20;
// float32_bytes: of all batches, in float32.
constexpr bool are_stored_rounded(Index float32_bytes) { return float32_bytes > most_stored_bytes; }
BatchActivations rounded(BatchActivations activations);  // to bfloat16
Index bytes_of(const BatchActivations& activations);

enum class WalkedModel { pruned, dense };

// Where a walk along a model is.
struct WalkPoint {
  std::size_t node = 0;  // all nodes before it are computed, and their layers pruned
  Index most_bytes = 0;  // of the values of one batch, in both models, at earlier points
  Index positions = 0;   // samples of the first layer
  // All nodes before it are computed in the dense model; none if no layer before `node` is pruned.
  std::optional<std::size_t> dense_node{};
};

class ActivationStore {
 public:
  virtual ~ActivationStore() = default;
  // The point where the walk begins: that of the activations in store.
  virtual WalkPoint begin() const { return {}; }
  virtual BatchActivations load(WalkedModel model, std::size_t batch) const = 0;
  // Stores the activations at the model's next point; the batch is not loaded again before
  // advance().
  virtual void store(WalkedModel model, std::size_t batch, BatchActivations activations) = 0;
  // All batches of the models whose activations were stored are complete. A walk that begins at
  // `resumed` gets those of the pruned model that are stored now, and those of the dense model
  // before this call; without `resumed` it cannot begin here.
  virtual void advance(const std::optional<WalkPoint>& resumed) = 0;
  // Stores the activations of the pruned model for the dense one, too.
  virtual void begin_dense() = 0;
};

// In memory, from the first node.
class ActivationsInMemory final : public ActivationStore {
 public:
  explicit ActivationsInMemory(std::size_t batches) : pruned_(batches) {}

  BatchActivations load(WalkedModel model, std::size_t batch) const override {
    return (model == WalkedModel::pruned ? pruned_ : dense_)[batch];
  }
  void store(WalkedModel model, std::size_t batch, BatchActivations activations) override {
    (model == WalkedModel::pruned ? pruned_ : dense_)[batch] = std::move(activations);
  }
  void advance(const std::optional<WalkPoint>&) override {}
  void begin_dense() override { dense_ = pruned_; }

 private:
  std::vector<BatchActivations> pruned_, dense_;
};

}  // namespace sten
