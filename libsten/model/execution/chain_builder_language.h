// SPDX-License-Identifier: Apache-2.0
// Nodes of language models in chains: RMS norm, rotary positions, products of two activations,
// slices of features.
#pragma once
#include "libsten/model/execution/chain_builder_base.h"

namespace sten::execution {

class LanguageChainBuilder : public ChainBuilder {
 public:
  using ChainBuilder::ChainBuilder;

 protected:
  // Each adds the node to the chain, if possible.
  bool take_rms_norm(const Node& n);
  bool take_rotary(const Node& n);
  bool take_mul(const Node& n);
  bool take_slice(const Node& n);
};

}  // namespace sten::execution
