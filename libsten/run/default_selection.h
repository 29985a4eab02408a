// Which tensors of a model are its weights, where no pattern says: by name, shape and what is tied.
#pragma once
#include <string_view>
#include <vector>

#include "libsten/io/checkpoint.h"

namespace sten {

// Why a tensor is left alone.
enum class SkipReason {
  no,  // it is a weight
  embedding,
  head,
  tied,
  router,
  bias,
  norm,
  basis,
  name,
  use,          // by a model's graph
  convolution,  // which --calibrate does not take
  rank,
  dtype,
  excluded,  // by a pattern
  keep,      // by a rule
};

// For one tensor of it, and for several: "embedding", "embeddings".
std::string_view reason(SkipReason why);
std::string_view reasons(SkipReason why);

// The rule but for what is tied, which needs the bytes: docs/pruning.md has it as a table.
std::vector<SkipReason> skip_reasons(const std::vector<const TensorInfo*>& model);
// All of the rule. It reads the bytes of matrices that have the shape and dtype of an embedding.
std::vector<SkipReason> skip_reasons(const Checkpoint& c);

// "left alone: 3 embeddings, 46 of rank below 2"; "" where none was. By number of a tensor.
std::string left_alone(const std::vector<SkipReason>& why);

}  // namespace sten
