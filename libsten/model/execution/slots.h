// SPDX-License-Identifier: Apache-2.0
// Values of a running graph: tensors, or activations of float32 or interleaved bfloat16 in panels
// (as activation_layout_of() says), whose memory is planned by lifetimes.
#pragma once
#include <optional>
#include <vector>

#include "libsten/compute/product/interleaved.h"
#include "libsten/core/tensor/dense.h"
#include "libsten/core/tensor/tensor.h"
#include "libsten/model/execution/memory_planner.h"
#include "libsten/model/execution/rotation_cache.h"

namespace sten::execution {

struct Value {
  std::optional<Tensor> tensor{};
  // Panels of float32, or interleaved, of shape [..., features].
  float* panels = nullptr;
  std::uint16_t* interleaved = nullptr;
  Shape shape{};

  bool is_in_panels() const { return panels || interleaved; }
};

// In the first run of a plan, each value in panels has its own memory, and its lifetime is
// recorded. Later runs use one block.
class Slots {
 public:
  explicit Slots(std::size_t count) : all_(count), held_(2 * count) {}

  Value& operator[](std::size_t number) { return all_[number]; }
  const Value& operator[](std::size_t number) const { return all_[number]; }

  // First run: starts a fused operator.
  void begin_operator(Index fused) { operator_ = fused; }
  // Allocates panels of a value of this operator, float32 or interleaved.
  void allot(std::size_t number, Shape shape);
  void allot_interleaved(std::size_t number, Shape shape);
  // Records a tensor of this operator.
  void note_tensor(std::size_t number);
  // Called after the last use; in later runs, frees the tensor.
  void release(std::size_t number);
  void end_plan();
  // Called before a later run: sets the panels' addresses.
  void begin_run();

  // The value as a tensor, converted from panels if necessary.
  const Tensor& tensor(std::size_t number);
  // The value in panels, or as rows of a dense tensor, which is converted if interleaved.
  Activations activations(std::size_t number);
  // An interleaved value.
  Interleaved interleaved(std::size_t number) const;

  // For each of `operators` fused operators: the size of values that it and later ones need.
  std::vector<Index> live_size_by_operator(Index operators) const;
  Index held_bytes() const;  // of the block and of tensors

  RotationCache rotations;  // of the current run
  bool times_steps = true;

 private:
  static constexpr Index floats = sizeof(float);

  float* hold(std::size_t number, Index size);

  std::vector<Value> all_;
  // Bytes of panels by value, then of tensors; absent if the size is 0.
  std::vector<BufferLifetime> held_;
  std::vector<Array<float>> own_;
  Array<float> block_;
  std::vector<BufferLifetime> buffers_;  // of panels
  std::vector<std::size_t> placed_;
  Index block_size_ = 0, operator_ = 0;
};

// The number of tokens of a shape [..., features].
Index tokens_of(const Shape& shape);

}  // namespace sten::execution
