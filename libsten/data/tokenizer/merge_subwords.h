// SPDX-License-Identifier: Apache-2.0
// The merges of byte-pair encoding.
#pragma once
#include "libsten/data/tokenizer/merge_ranks.h"

namespace sten {

// Merges adjacent ids from `begin` on, the pair of the lowest rank first, of equal ranks the first
// pair, until no pair has a merge.
void merge_subwords(const MergeRanks& ranks, std::size_t begin, std::vector<TokenId>& ids);

}  // namespace sten
