// The values of a graph while an executor runs it: tensors, or activations in panels, narrow ones for
// few tokens (activation_layout_of), of float32 or of pairs of bfloat16, in memory that is planned by lifetimes.
#pragma once
#include <optional>
#include <vector>

#include "libsten/graph/execution/memory_planner.h"
#include "libsten/product/interleaved.h"
#include "libsten/tensor/dense.h"
#include "libsten/tensor/tensor.h"

namespace sten::execution {

struct Value {
  std::optional<Tensor> tensor{};
  // In panels, of one kind or the other: the shape is [..., features].
  float* panels = nullptr;
  std::uint16_t* interleaved = nullptr;
  Shape shape{};

  bool is_in_panels() const { return panels || interleaved; }
};

// While a plan is made, in its first run, each value in panels has memory of its own, and is noted
// with the units of the plan in which it is held. Later runs have one block for all of them.
class Slots {
 public:
  explicit Slots(std::size_t count) : all_(count), held_(2 * count) {}

  Value& operator[](std::size_t number) { return all_[number]; }
  const Value& operator[](std::size_t number) const { return all_[number]; }

  // While a plan is made: the unit that runs from now on.
  void begin_operator(Index fused) { operator_ = fused; }
  // Panels for a value that the unit computes, of float32 or of pairs.
  void allot(std::size_t number, Shape shape);
  void allot_interleaved(std::size_t number, Shape shape);
  // A tensor that the unit computed.
  void note_tensor(std::size_t number);
  // After the last unit that needs it; in later runs its tensor is let go.
  void release(std::size_t number);
  void end_plan();
  // Before a later run: panels have their places.
  void begin_run();

  // The value as a tensor, made from panels if that is all there is.
  const Tensor& tensor(std::size_t number);
  // In panels, or as the rows of a dense tensor, which is made of pairs.
  Activations activations(std::size_t number);
  // Of a value in pairs.
  Interleaved interleaved(std::size_t number) const;

  // Of each of so many units: what it and later ones need.
  std::vector<Index> live_size_by_operator(Index operators) const;
  Index held_bytes() const;  // the block, and tensors

 private:
  static constexpr Index floats = sizeof(float);

  float* hold(std::size_t number, Index size);

  std::vector<Value> all_;
  // Bytes of panels by number, then of tensors: none where a size is 0.
  std::vector<BufferLifetime> held_;
  std::vector<Array<float>> own_;
  Array<float> block_;
  std::vector<BufferLifetime> buffers_;  // of panels alone
  std::vector<std::size_t> placed_;
  Index block_size_ = 0, operator_ = 0;
};

// Tokens of a shape [..., features].
Index tokens_of(const Shape& shape);

}  // namespace sten::execution
