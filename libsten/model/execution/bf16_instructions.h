// SPDX-License-Identifier: Apache-2.0
// Token instructions on interleaved bfloat16.
#pragma once
#include "libsten/compute/product/bf16_product.h"
#include "libsten/model/execution/token_instructions.h"

namespace sten::execution {

struct Bf16ProductInstruction final : ProductInstruction {
  bool to_floats = false;  // y and the residual are float32

  Bf16ProductInstruction(const Tensor& w, const Bf16ProductImpl& impl);
  void run(const TokenGroup& group) const override;

 private:
  Bf16ProductImpl::Multiply multiply_;
};

// From float32 to interleaved.
struct RoundedNormalizeInstruction final : NormalizeInstruction {
  using NormalizeInstruction::NormalizeInstruction;
  void run(const TokenGroup& group) const override;
};
// Interleaved variants of the instructions of these names; sums and functions are in float32.
struct Bf16NormalizeInstruction final : NormalizeInstruction {
  using NormalizeInstruction::NormalizeInstruction;
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
