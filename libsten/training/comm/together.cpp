// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/comm/together.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "libsten/core/base/hash.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

template <class T>
std::span<std::byte> writable_bytes(T& x) {
  return std::as_writable_bytes(std::span(&x, 1));
}

// A hash of the machine and of the process's affinity mask.
std::uint64_t process_location() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return hash_bytes(hash_bytes(0, std::as_bytes(std::span(host))),
                    std::as_bytes(std::span(&set, 1)));
}

}  // namespace

std::string broadcast_text(Communicator& ranks, std::string text, int from) {
  std::uint64_t size = text.size();
  ranks.broadcast(writable_bytes(size), from);
  text.resize(size);
  ranks.broadcast(std::as_writable_bytes(std::span(text)), from);
  return text;
}

int differing_rank(Communicator& ranks, std::uint64_t hash) {
  const std::vector<std::uint64_t> all = ranks.gather(hash);
  const auto other = std::ranges::find_if(all, [&](std::uint64_t h) { return h != all[0]; });
  return other == all.end() ? 0 : static_cast<int>(other - all.begin());
}

std::optional<RankDifference> rank_difference(Communicator& ranks, const std::string& text) {
  const int other = differing_rank(ranks, hash_of_text(text));
  if (other == 0) return std::nullopt;
  std::string theirs = broadcast_text(ranks, text, other);
  return RankDifference{other, std::move(theirs), broadcast_text(ranks, text)};
}

void check_same(Communicator& ranks, const std::string& what, const std::string& mine) {
  if (const auto d = rank_difference(ranks, mine))
    fail_usage("ranks differ in {}: {} on rank 0, {} on rank {}", what, printable(d->first),
               printable(d->theirs), d->rank);
}

bool on_any_rank(Communicator& ranks, bool mine) {
  return std::ranges::any_of(ranks.gather(mine), [](std::uint64_t one) { return one != 0; });
}

int threads_per_rank(Communicator& ranks) {
  const std::uint64_t here = process_location();
  const auto beside = std::ranges::count(ranks.gather(here), here);
  const auto mine = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(available_threads()) / static_cast<std::uint64_t>(beside));
  return static_cast<int>(std::ranges::min(ranks.gather(mine)));
}

void comm_detail::share_failure(Communicator& ranks, std::optional<Error> mine) {
  int fault = mine ? static_cast<int>(mine->fault()) : 0;
  ranks.broadcast(writable_bytes(fault));
  if (fault == 0) return;
  throw Error(static_cast<Fault>(fault), broadcast_text(ranks, mine ? mine->what() : ""));
}

}  // namespace sten
