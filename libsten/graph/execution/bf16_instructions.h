// What is done to tokens in pairs of bfloat16, each by itself.
#pragma once
#include "libsten/graph/execution/token_instructions.h"
#include "libsten/product/bf16_product.h"
#include "libsten/product/bf16_small_batch.h"

namespace sten::execution {

// Whether a product in bfloat16 of such a weight exists, on the CPU, with so many tokens, that is
// worth it: of few with any layout, of many with dense and nmgv, and with others on matrix tiles, where
// their zeros are multiplied too.
bool has_bf16_product(const Tensor& w, Index tokens);

// Of a weight of F32 or BF16 that has one. `tokens`: of all groups together.
struct Bf16ProductInstruction final : ProductInstruction {
  Bf16ProductInstruction(const Tensor& w, Index tokens);
  bool is_small_batch() const { return small_batch_.has_value(); }
  void run(const TokenGroup& group) const override;

 private:
  std::optional<Bf16SmallBatchFactor> small_batch_;
  std::optional<Bf16Factor> large_batch_;
};

// What the steps of these names do to floats, with x and y in pairs; sums and functions in float32.
struct Bf16NormalizeInstruction final : NormalizeInstruction {
  using NormalizeInstruction::NormalizeInstruction;
  void run(const TokenGroup& group) const override;
};
struct Bf16AddInstruction final : AddInstruction {
  void run(const TokenGroup& group) const override;
};
struct Bf16MapInstruction final : MapInstruction {
  void run(const TokenGroup& group) const override;
};

// Pairs of x become panels of float32, y; or the other way.
struct WidenInstruction final : TokenInstruction {
  std::size_t x = 0, y = 0;
  Index features = 0;
  void run(const TokenGroup& group) const override;
};
struct RoundInstruction final : TokenInstruction {
  std::size_t x = 0, y = 0;
  Index features = 0;
  void run(const TokenGroup& group) const override;
};

// Panel p of a value of the group.
inline std::uint16_t* interleaved_panel(const TokenGroup& g, std::size_t value, Index features,
                                        Index p) {
  return g.interleaved(value) + p * padded_features(features) * g.lanes;
}
// Rows of tokens become a panel of pairs, in which missing tokens are 0; and back.
void rows_to_interleaved(const float* rows, Index tokens, Index features, std::uint16_t* panel,
                         Index lanes);
void interleaved_to_rows(const std::uint16_t* panel, Index lanes, Index tokens, Index features,
                         float* rows);

}  // namespace sten::execution
