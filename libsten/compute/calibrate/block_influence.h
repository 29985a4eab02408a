// SPDX-License-Identifier: Apache-2.0
// Block influence (Men et al. 2024, ShortGPT): how much a layer of a model changes its input.
#pragma once
#include "libsten/core/tensor/dense.h"

namespace sten {

class BlockInfluence {
 public:
  // Adds the inputs and outputs of a batch's tokens, both F32 [..., features].
  void add(const Dense& inputs, const Dense& outputs);
  // The mean over the tokens of 1 - cos(input, output), from 0 to 2; 0 without tokens.
  double value() const { return tokens_ ? sum_ / static_cast<double>(tokens_) : 0; }
  Index tokens() const { return tokens_; }

 private:
  double sum_ = 0;
  Index tokens_ = 0;
};

}  // namespace sten
