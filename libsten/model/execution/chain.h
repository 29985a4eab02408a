// SPDX-License-Identifier: Apache-2.0
// Chain: token-wise nodes that run one after the other on a few panels at a time, so that
// intermediates stay in a cache.
#pragma once
#include <atomic>

#include "libsten/model/execution/fused_operator.h"
#include "libsten/model/execution/language_instructions.h"
#include "libsten/model/execution/token_instructions.h"

namespace sten::execution {

// A value of a chain.
struct ChainValue {
  std::size_t number;  // in the graph
  Index features;
  std::size_t first, last;   // instructions that first write and last read it
  bool interleaved = false;  // bfloat16; otherwise float32
  bool is_local = true;      // false: its panels belong to the graph
  bool is_copy = false;      // of the graph's value in the other precision
};

class FusedChain final : public FusedOperator {
 public:
  Shape tokens_shape;  // of all values, without features
  std::vector<ChainValue> values;
  std::vector<std::unique_ptr<TokenInstruction>> work;
  struct Rows {
    std::size_t value;  // in the graph
    LoadInstruction* load = nullptr;
    StoreInstruction* store = nullptr;
    Shape shape{};
    EmbedInstruction* embed = nullptr;
    std::size_t table = 0;
  };
  std::vector<Rows> rows;
  // Rotary embeddings, whose angles are set before each run.
  struct Rotation {
    std::size_t positions, frequencies;  // in the graph
    double scale;
    Shape shape;  // of the positions
    RotaryInstruction* step;
  };
  std::vector<Rotation> rotations;
  struct Outcome {
    std::size_t value;
    Shape shape;
    bool panels, tensor, interleaved;
  };
  std::vector<Outcome> outcomes;  // values that later nodes need

  // Call once, when the fields above are set.
  void lower();
  void run(Slots& slots) override;
  Index working_bytes() const override;

 private:
  void make_rows(Slots& slots, const Outcome& o) const;
  void begin(Slots& slots);
  void run_group(Index first, Index count, const Slots& slots) const;
  // Size of a panel of a value, in floats.
  Index panel_size(const ChainValue& v) const;

  Index tokens_ = 0, group_panels_ = 1;
  std::vector<BufferLifetime> buffers_;  // of local values, in floats per panel
  Index local_size_ = 0;
  std::vector<float*> global_;
  mutable std::vector<std::atomic<std::int64_t>> nanoseconds_;
};

}  // namespace sten::execution
