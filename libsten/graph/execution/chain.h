// Nodes that work on tokens each by itself, one after the other on a few panels of tokens at a time:
// what only they need stays in a cache.
#pragma once
#include <atomic>

#include "libsten/graph/execution/fused_operator.h"
#include "libsten/graph/execution/token_instructions.h"

namespace sten::execution {

// A value as a chain sees it.
struct ChainValue {
  std::size_t number;  // in the graph
  Index features;
  std::size_t first, last;   // steps that write it first and read it last
  bool interleaved = false;  // of bfloat16, else float32
  bool is_local = true;      // else its panels are the graph's
  bool is_copy = false;      // of another value of the same number, which is of the other kind
};

class FusedChain final : public FusedOperator {
 public:
  Shape tokens_shape;  // of all values, without their features
  std::vector<ChainValue> values;
  std::vector<std::unique_ptr<TokenInstruction>> work;
  struct Rows {
    std::size_t value;  // of the graph
    LoadInstruction* load = nullptr;
    StoreInstruction* store = nullptr;
    Shape shape{};
    EmbedInstruction* embed = nullptr;
    std::size_t table = 0;
  };
  std::vector<Rows> rows;
  struct Outcome {
    std::size_t value;
    Shape shape;
    bool panels, tensor, interleaved;
  };
  std::vector<Outcome> outcomes;  // for what comes after

  // To be called once, when all of the above is there.
  void lower();
  void run(Slots& slots) override;
  Index working_bytes() const override;

 private:
  void make_rows(Slots& slots, const Outcome& o) const;
  void begin(Slots& slots);
  void run_group(Index first, Index count, float* const* global) const;
  // Of a panel of a value, in floats.
  Index panel_size(const ChainValue& v) const;

  Index tokens_ = 0, group_panels_ = 1;
  std::vector<BufferLifetime> buffers_;  // of local values, in floats for each panel
  Index local_size_ = 0;
  std::vector<float*> global_;
  mutable std::vector<std::atomic<std::int64_t>> nanoseconds_;
};

}  // namespace sten::execution
