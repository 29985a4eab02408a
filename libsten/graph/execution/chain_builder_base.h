// What a chain becomes while nodes are added to it: its values and its steps.
#pragma once
#include "libsten/graph/execution/chain.h"

namespace sten::execution {

class ChainBuilder {
 public:
  ChainBuilder(const PlanContext& plan, const Slots& slots) : plan_(plan), slots_(slots) {}

  // The node that is added now.
  void begin_node(std::size_t node) { node_ = node; }
  // Whether it is to run in bfloat16.
  bool is_low() const { return plan_.low[node_]; }
  std::size_t argument(std::size_t i) const { return plan_.arguments[node_][i]; }
  bool is_used_once(std::size_t value) const { return plan_.uses[value] == 1; }

  // Of a value that the chain has or can have; nothing for others.
  std::optional<Shape> shape_of(std::size_t number) const;
  // The chain's number of such a value, in pairs or not; a tensor is loaded, and what is of the other
  // kind is copied.
  std::size_t value(std::size_t number, const Shape& shape, bool interleaved);
  std::size_t add_value(std::size_t number, Index features, bool interleaved);
  bool is_interleaved(std::size_t value) const { return chain_->values[value].interleaved; }
  // The node's value in the place of x, which nobody else needs; or a new one.
  std::size_t in_place_of(std::size_t x, Index features);

  // A step that writes value y.
  void write(std::unique_ptr<TokenInstruction> step, std::size_t y, ExecutionStep about);
  void read(std::size_t value) { chain_->values[value].last = chain_->work.size(); }
  // The chain's value that a step of it makes, if any.
  std::optional<std::size_t> produced_here(std::size_t number) const;
  // The product that made the value, step `at`, if nobody else needs that and nothing follows it.
  ProductInstruction* open_product(std::size_t v, std::size_t& at) const;
  // The node becomes a part of step `at`, which writes value v.
  void fuse_into(const Node& n, std::size_t at, std::size_t v);
  ExecutionStep about(const Node& n, std::string why, Index moved, bool interleaved) const;
  double tokens() const;
  double bytes(Index features, bool interleaved) const {
    return (interleaved ? 2 : 4) * tokens() * static_cast<double>(features);
  }

  // The chain, whose nodes end before `end`.
  std::unique_ptr<FusedChain> lower(std::size_t end);

 protected:
  static bool is_floats(const Tensor& t) {
    return t.is<Dense>() && t.dtype() == DType::F32 && t.device() == Device::cpu;
  }

  const PlanContext& plan_;
  const Slots& slots_;
  std::unique_ptr<FusedChain> chain_ = std::make_unique<FusedChain>();
  std::vector<bool> is_input_;        // of the chain's values
  std::vector<std::size_t> writers_;  // the last step that writes each
  std::size_t node_ = 0;

 private:
  void store(std::size_t i, const Shape& shape);
  std::size_t input(std::size_t number, const Shape& shape, bool interleaved);
  std::size_t copy(std::size_t from);
};

}  // namespace sten::execution
