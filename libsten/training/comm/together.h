// SPDX-License-Identifier: Apache-2.0
// Agreement of ranks: checks and values that are the same on all ranks.
#pragma once
#include <optional>
#include <string>

#include "libsten/core/base/error.h"
#include "libsten/training/comm/communicator.h"

namespace sten {

// The text of rank `from`, of any length.
std::string broadcast_text(Communicator& ranks, std::string text, int from = 0);

struct RankDifference {
  int rank = 0;  // the lowest rank that differs from rank 0
  std::string theirs, first;
};
// The first difference between the ranks' texts, if any. Compares hashes, and sends texts only if
// these differ.
std::optional<RankDifference> rank_difference(Communicator& ranks, const std::string& text);
// Error (usage), on all ranks, if the texts differ: "ranks differ in WHAT: X on rank 0, Y on rank
// 1".
void check_same(Communicator& ranks, const std::string& what, const std::string& mine);
// The lowest rank whose hash differs from rank 0's; 0 if none does.
int differing_rank(Communicator& ranks, std::uint64_t hash);

// Whether the condition holds on any rank.
bool on_any_rank(Communicator& ranks, bool mine);

// The number of threads per rank, at least 1 and the same for all ranks: ranks on the same
// processors of a machine share these.
int threads_per_rank(Communicator& ranks);

namespace comm_detail {
void share_failure(Communicator& ranks, std::optional<Error> mine);
}

// Calls f() on rank 0; all ranks throw its Error.
template <class F>
void on_first_rank(Communicator& ranks, F&& f) {
  if (ranks.size() == 1) return f();
  std::optional<Error> failed;
  if (ranks.rank() == 0) try {
      f();
    } catch (const Error& e) {
      failed = e;
    }
  comm_detail::share_failure(ranks, std::move(failed));
}

}  // namespace sten
