// Sums of embeddings, as models of language begin with them.
#pragma once
#include "libsten/graph/execution/fused_operator.h"

namespace sten::execution {

struct EmbeddingSum {
  struct Table {
    std::size_t weight, ids;  // values
  };
  std::size_t nodes;          // how many they are
  std::size_t value;          // of the last one
  Shape shape;                // [..., features], to which ids without the features are repeated
  std::vector<Table> tables;  // in the order in which they are added
};

// The longest that starts at that node: embeddings and additions alone. Nothing but the
// last value is taken elsewhere. Ids are there, and within their tables.
std::optional<EmbeddingSum> match_embeddings(const PlanContext& plan, std::size_t node,
                                             const Slots& slots);

// Whether all of I64 or I32 are at least 0 and below `rows`.
bool are_within(const Dense& ids, Index rows);

}  // namespace sten::execution
