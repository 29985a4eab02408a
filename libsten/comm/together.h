// What ranks find out of each other, and have in common afterwards.
#pragma once
#include <optional>
#include <string>

#include "libsten/base/error.h"
#include "libsten/comm/communicator.h"

namespace sten {

// The text of rank `from`, of any length.
std::string broadcast_text(Communicator& ranks, std::string text, int from = 0);

struct RankDifference {
  int rank = 0;  // the lowest that differs from rank 0
  std::string theirs, first;
};
// Where not all ranks have the same text; a hash of each travels, and texts where it differs.
std::optional<RankDifference> rank_difference(Communicator& ranks, const std::string& text);
// Error (usage), the same on each rank: "ranks differ in WHAT: X on rank 0, Y on rank 1".
void check_same(Communicator& ranks, const std::string& what, const std::string& mine);
// The lowest rank whose hash is not rank 0's; 0: all have the same.
int differing_rank(Communicator& ranks, std::uint64_t hash);

// Whether it is so on any rank.
bool on_any_rank(Communicator& ranks, bool mine);

// The threads of each rank, the same for all: where several are on the same processors of one
// machine, these are shared out. At least 1.
int threads_per_rank(Communicator& ranks);

namespace comm_detail {
void share_failure(Communicator& ranks, std::optional<Error> mine);
}

// f() on rank 0 alone; every rank has its Error.
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
