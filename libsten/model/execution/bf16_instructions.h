// Token instructions on interleaved bfloat16.
#pragma once
#include "libsten/compute/product/bf16_product.h"
#include "libsten/compute/product/bf16_small_batch.h"
#include "libsten/model/execution/token_instructions.h"

namespace sten::execution {

// Whether a bfloat16 product with such a weight is available on the CPU and worthwhile for so many
// tokens: for small batches in any layout, for larger ones in dense and nmgv, and in other layouts
// on matrix tiles, which also multiply zeros.
bool has_bf16_product(const Tensor& w, Index tokens);

// A product with a weight of F32 or BF16 for which has_bf16_product() holds. `tokens`: of all
// groups together.
struct Bf16ProductInstruction final : ProductInstruction {
  Bf16ProductInstruction(const Tensor& w, Index tokens);
  bool is_small_batch() const { return small_batch_.has_value(); }
  void run(const TokenGroup& group) const override;

 private:
  std::optional<Bf16SmallBatchFactor> small_batch_;
  std::optional<Bf16Factor> large_batch_;
};

// Interleaved variants of the instructions of these names; sums and functions are in float32.
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

// Converts interleaved x to panels y of float32; and the reverse.
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

}  // namespace sten::execution
