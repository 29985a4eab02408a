// SPDX-License-Identifier: Apache-2.0
// Builder of a chain: values and instructions, added node by node.
#pragma once
#include "libsten/model/execution/chain.h"

namespace sten::execution {

class ChainBuilder {
 public:
  ChainBuilder(const PlanContext& plan, const Slots& slots) : plan_(plan), slots_(slots) {}

  // Starts adding a node.
  void begin_node(std::size_t node) { node_ = node; }
  // Whether the node runs in bfloat16.
  bool is_low() const { return plan_.low[node_]; }
  std::size_t argument(std::size_t i) const { return plan_.graph.arguments(node_)[i]; }
  bool is_used_once(std::size_t value) const { return plan_.graph.uses(value) == 1; }

  // The shape of a value that the chain has or can have; none for others.
  std::optional<Shape> shape_of(std::size_t number) const;
  // The chain's index of such a value, interleaved or not. Loads a tensor, and copies a value in
  // the other precision.
  std::size_t value(std::size_t number, const Shape& shape, bool interleaved);
  std::size_t add_value(std::size_t number, Index features, bool interleaved);
  bool is_interleaved(std::size_t value) const { return chain_->values[value].interleaved; }
  // Whether a norm reads its input interleaved, as the chain or the graph has it; and whether it
  // rounds its result, which sums and tensors need in float32.
  bool is_norm_interleaved() const { return is_low() && !has_floats(argument(0)); }
  bool is_norm_rounded(std::size_t x) const;
  // The node's value: in place of x if x has no other use and is interleaved as the result is;
  // otherwise a new value.
  std::size_t result_of(std::size_t x, Index features, bool interleaved);
  std::size_t in_place_of(std::size_t x, Index features) {
    return result_of(x, features, is_interleaved(x));
  }

  // Adds an instruction that writes value y.
  void write(std::unique_ptr<TokenInstruction> step, std::size_t y, ExecutionStep about);
  void read(std::size_t value) { chain_->values[value].last = chain_->work.size(); }
  // The chain's value that one of its instructions computes, if any.
  std::optional<std::size_t> produced_here(std::size_t number) const;
  // The product at index `at` that computes the value, if it has no other use and no epilogue.
  ProductInstruction* open_product(std::size_t v, std::size_t& at) const;
  // Makes the node part of instruction `at`, which writes value v.
  void fuse_into(const Node& n, std::size_t at, std::size_t v);
  ExecutionStep about(const Node& n, std::string why, Index moved, bool interleaved) const;
  double tokens() const;
  double bytes(Index features, bool interleaved) const {
    return (interleaved ? 2 : 4) * tokens() * static_cast<double>(features);
  }

  // Returns the chain, whose nodes are before `end`.
  std::unique_ptr<FusedChain> lower(std::size_t end);

 protected:
  static bool is_floats(const Tensor& t) {
    return t.is<Dense>() && t.dtype() == DType::F32 && t.device() == Device::cpu;
  }

  // Argument i, if it is a weight.
  const Tensor* weight(std::size_t i) const {
    return plan_.is_weight(argument(i)) ? &*slots_[argument(i)].tensor : nullptr;
  }
  // Argument i, if it is a dense tensor of I64 or I32.
  const Tensor* integers(std::size_t i) const;

  const PlanContext& plan_;
  const Slots& slots_;
  std::unique_ptr<FusedChain> chain_ = std::make_unique<FusedChain>();
  std::vector<bool> is_input_;        // per value of the chain
  std::vector<std::size_t> writers_;  // the last instruction that writes each value
  std::size_t node_ = 0;

 private:
  // Whether the chain, or the graph before it, has the value in float32.
  bool has_floats(std::size_t number) const;
  void store(std::size_t i, const Shape& shape);
  std::size_t input(std::size_t number, const Shape& shape, bool interleaved);
  std::size_t copy(std::size_t from);
};

}  // namespace sten::execution
