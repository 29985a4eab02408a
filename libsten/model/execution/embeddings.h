// SPDX-License-Identifier: Apache-2.0
// Sums of embeddings at the start of language models.
#pragma once
#include "libsten/model/execution/fused_operator.h"

namespace sten::execution {

struct EmbeddingSum {
  struct Table {
    std::size_t weight, ids;  // indices of values
  };
  std::size_t nodes;          // number of nodes
  std::size_t value;          // result of the last node
  Shape shape;                // [..., features]; ids, which lack the features, are broadcast to it
  std::vector<Table> tables;  // in the order of additions
};

// Matches the longest sum that starts at `node`, of embeddings and additions only. Only its last
// value is used elsewhere. Ids are known, and within their tables.
std::optional<EmbeddingSum> match_embeddings(const PlanContext& plan, std::size_t node,
                                             const Slots& slots);

// Whether all ids (I64 or I32) are at least 0 and below `rows`.
bool are_within(const Dense& ids, Index rows);

}  // namespace sten::execution
