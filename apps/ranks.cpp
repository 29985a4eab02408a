// SPDX-License-Identifier: Apache-2.0
#include "apps/ranks.h"

#include <fmt/ranges.h>

#include <csignal>
#include <new>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/training/comm/comm_mpi.h"
#include "libsten/training/comm/together.h"

namespace sten::app {
namespace {

// Ends all processes unless all of them arrive here. If they do, the message is printed before the
// ranks end MPI together: once a rank has ended with an error, mpirun ends the others by SIGTERM.
[[noreturn]] void fail_in_ranks(const char* program, Communicator& ranks, const char* what,
                                Fault fault) {
  const bool all = ranks.all_fail();
  std::signal(SIGTERM, SIG_IGN);
  if (ranks.rank() == 0)
    print_line(program, what);
  else if (!all)
    print_line(program, fmt::format("rank {}: {}", ranks.rank(), what));
  if (!all) ranks.abort(static_cast<int>(fault));
  throw Error(fault, "");
}

}  // namespace

GivenOptions::value_type given_extensions(const Common& common) {
  return {"--load", fmt::format("{}", fmt::join(common.extensions, " "))};
}

Outcome in_ranks(const char* program, const GivenOptions& options, int threads,
                 const std::function<Outcome(const std::shared_ptr<Communicator>&)>& f) {
  const std::shared_ptr<Communicator> ranks = comm_of_process();
  if (ranks->size() == 1) return f(ranks);
  try {
    check_same(*ranks, "program", program);
    for (const auto& [name, given] : options) check_same(*ranks, name, given);
    check_same(*ranks, "threads", threads == 0 ? "no number" : std::to_string(threads));
    if (threads == 0) set_threads(threads_per_rank(*ranks));
    return f(ranks);
  } catch (const Error& e) {
    fail_in_ranks(program, *ranks, e.what(), e.fault());
  } catch (const std::bad_alloc&) {
    fail_in_ranks(program, *ranks, "out of memory", Fault::input);
  } catch (const std::exception& e) {
    fail_in_ranks(program, *ranks, e.what(), Fault::input);
  }
}

}  // namespace sten::app
