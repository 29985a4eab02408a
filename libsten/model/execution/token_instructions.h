// SPDX-License-Identifier: Apache-2.0
// Token instructions: the steps of a chain. Each processes a few panels, so that its results are in
// a cache for the next one.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/epilogue.h"
#include "libsten/compute/ops/common/float_map.h"
#include "libsten/compute/product/interleaved.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/base/parallel.h"

namespace sten::execution {

// A group of tokens, from a multiple of panel_width on, with the panels of each value of the chain,
// of lanes_of() all its tokens.
struct TokenGroup {
  Index first, count, lanes;
  float* const* at;

  // As many tokens as lanes have the layout of the group.
  ActivationLayout layout() const { return activation_layout_of(lanes); }
  // Tokens of an interleaved value, whose lanes follow from them: with few tokens in a panel, also
  // lanes without a token.
  Index interleaved_tokens() const {
    return lanes == panel_width ? std::max(count, narrow_panel_width + 1) : count;
  }
  // An interleaved value.
  std::uint16_t* interleaved(std::size_t i) const {
    return reinterpret_cast<std::uint16_t*>(at[i]);
  }
};

// Panel p of an interleaved value of the group.
inline std::uint16_t* interleaved_panel(const TokenGroup& g, std::size_t value, Index features,
                                        Index p) {
  return g.interleaved(value) + p * padded_features(features) * g.lanes;
}

// Calls f(index of a panel, its tokens) for the panels of the group, on threads().
template <class F>
void each_panel(Index tokens, F&& f) {
  const auto some = [&](Index begin, Index end) {
    for (Index p = begin; p < end; ++p) f(p, std::min(panel_width, tokens - p * panel_width));
  };
  parallel_for(panels_of(tokens), 1, std::cref(some));
}

class TokenInstruction {
 public:
  virtual ~TokenInstruction() = default;
  virtual void run(const TokenGroup& group) const = 0;
};

// y = activation(w x + bias + residual). Values are indices in the chain.
struct ProductInstruction : TokenInstruction {
  Tensor weight;  // [out, in]
  std::optional<Tensor> bias{};
  std::size_t x = 0, y = 0;
  std::optional<std::size_t> residual{};
  kernels::Activation activation = kernels::Activation::none;
  bool stream = false;  // the result is not read soon

  explicit ProductInstruction(Tensor w) : weight(std::move(w)), shape_(weight.shape()) {}
  Index in() const { return shape_[1]; }
  Index out() const { return shape_[0]; }

 private:
  Shape shape_;
};

// Product in F32.
struct Float32ProductInstruction final : ProductInstruction {
  std::optional<SparseFactor> sparse;  // of the weight; none: dense

  explicit Float32ProductInstruction(Tensor w);
  void run(const TokenGroup& group) const override;

 private:
  void multiply_token(const TokenGroup& group, const Epilogue& epilogue) const;
};

// Layer normalization of a panel; y may be x.
void normalize_panel(const float* x, Index features, Index lanes, float eps, const float* gamma,
                     const float* beta, float* y);

// Layer normalization; y may be x.
struct NormalizeInstruction : TokenInstruction {
  Tensor gamma, beta;
  float eps = 0;
  std::size_t x = 0, y = 0;
  Index features = 0;

  NormalizeInstruction(Tensor gamma, Tensor beta)
      : gamma(std::move(gamma)), beta(std::move(beta)) {}
  void run(const TokenGroup& group) const override;
};

struct AddInstruction : TokenInstruction {
  std::size_t a = 0, b = 0, y = 0;
  Index features = 0;
  void run(const TokenGroup& group) const override;
};

// y = f(x), elementwise; y may be x.
struct MapInstruction : TokenInstruction {
  FloatMap f;
  std::size_t x = 0, y = 0;
  Index features = 0;
  void run(const TokenGroup& group) const override;
};

// Sum of the rows that ids select in each table.
struct EmbedInstruction final : TokenInstruction {
  struct Table {
    Tensor rows;                     // F32 or BF16
    std::vector<Index> steps;        // in the ids, per extent of the tokens
    bool is_wide;                    // ids are I64; otherwise I32
    const std::byte* ids = nullptr;  // set before each run
  };
  std::vector<Table> tables;
  Shape extents;  // of the tokens
  std::size_t y = 0;
  Index features = 0;
  void run(const TokenGroup& group) const override;

 private:
  // Sets the features of `to`, or adds to them if `more`.
  void take_row(const Table& table, Index token, bool more, float* to) const;
};

// Converts rows of tokens to panels or interleaved panels, and back. `rows` is set before each run.
struct LoadInstruction final : TokenInstruction {
  const float* rows = nullptr;
  std::size_t y = 0;
  Index features = 0;
  bool interleaved = false;
  void run(const TokenGroup& group) const override;
};
struct StoreInstruction final : TokenInstruction {
  float* rows = nullptr;
  std::size_t x = 0;
  Index features = 0;
  bool interleaved = false;
  void run(const TokenGroup& group) const override;
};

}  // namespace sten::execution
