// SPDX-License-Identifier: Apache-2.0
// Default selection: the weights of a model by name, shape and ties.
#pragma once
#include <string_view>
#include <vector>

#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {

// Why a tensor is skipped.
enum class SkipReason {
  no,  // not skipped: a weight
  embedding,
  head,
  tied,
  router,
  bias,
  norm,
  basis,
  name,
  use,          // by the model's graph
  convolution,  // not supported by --calibrate
  experts,      // a stack of them, not supported by --calibrate
  rank,
  dtype,
  excluded,  // by a pattern
  keep,      // by a rule
};

// Singular and plural, for messages: "embedding", "embeddings".
std::string_view reason(SkipReason why);
std::string_view reasons(SkipReason why);

// Whether t is one tensor for the linear layers of all experts of a mixture.
bool is_expert_stack(const TensorInfo& t);

// Applies the rule (a table in docs/pruning.md) without ties, which need the bytes.
std::vector<SkipReason> skip_reasons(const std::vector<const TensorInfo*>& model);
// Applies the whole rule. Reads the bytes of matrices that have the shape and dtype of an
// embedding.
std::vector<SkipReason> skip_reasons(const Checkpoint& c);

// "left alone: 3 embeddings, 46 of rank below 2"; "" if nothing was skipped. `why` has an entry per
// tensor.
std::string left_alone(const std::vector<SkipReason>& why);

}  // namespace sten
