// SPDX-License-Identifier: Apache-2.0
// Communicators: a single rank, and several ranks as threads.
#include <doctest/doctest.h>

#include <mutex>
#include <numeric>

#include "libsten/core/base/parallel.h"
#include "libsten/training/comm/comm_mpi.h"
#include "libsten/training/comm/comm_self.h"
#include "libsten/training/comm/together.h"
#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"
#include "tests/support/variables.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("a single process is rank 0 of 1, and its sums, broadcasts and gathers change nothing") {
  const auto ranks = comm_self();
  CHECK(ranks->rank() == 0);
  CHECK(ranks->size() == 1);
  std::vector<float> x = {1, 2, 3};
  ranks->sum(x);
  ranks->broadcast(std::as_writable_bytes(std::span(x)));
  ranks->barrier();
  CHECK(x == std::vector<float>{1, 2, 3});
  CHECK(ranks->gather(7) == std::vector<std::uint64_t>{7});
  const std::vector<std::uint32_t> words = {3, 1};
  CHECK(ranks->gather(words) == std::vector<std::vector<std::uint32_t>>{words});
  CHECK(broadcast_text(*ranks, "text") == "text");
  CHECK(!rank_difference(*ranks, "text"));
  CHECK(!on_any_rank(*ranks, false));
  CHECK(on_any_rank(*ranks, true));
  CHECK(threads_per_rank(*ranks) == available_threads());
  CHECK(ranks->all_fail());
}

TEST_CASE("a communicator counts the bytes of sums, broadcasts and gathers") {
  const auto ranks = comm_self();
  std::vector<float> x(100);
  ranks->sum(x);
  CHECK(ranks->bytes() == 400);
  ranks->broadcast(std::as_writable_bytes(std::span(x).first(3)));
  CHECK(ranks->bytes() == 412);
  ranks->gather(1);
  CHECK(ranks->bytes() == 420);
  ranks->sum(x, *transport_from("bfloat16"));
  CHECK(ranks->bytes() == 620);
  ranks->gather(std::vector<std::uint32_t>(3));  // 12 bytes and the count
  CHECK(ranks->bytes() == 640);
}

TEST_CASE("transports are named by their dtype, and unknown names have no transport") {
  CHECK(transport_from("float32") == Transport::float32);
  CHECK(transport_from("bfloat16") == Transport::bfloat16);
  CHECK(!transport_from("float16"));
}

TEST_CASE("rank_difference reports the lowest differing rank, its text and that of rank 0") {
  in_threads(4, [](const auto& ranks) {
    CHECK(!rank_difference(*ranks, "same"));
    const auto d = rank_difference(*ranks, ranks->rank() < 2 ? "one" : "another, longer one");
    REQUIRE(d);
    CHECK(d->rank == 2);
    CHECK(d->first == "one");
    CHECK(d->theirs == "another, longer one");
    CHECK(on_any_rank(*ranks, ranks->rank() == 3));
  });
}

TEST_CASE("an exception on one thread rank does not leave other ranks waiting") {
  CHECK_THROWS_WITH(in_threads(3,
                               [](const auto& ranks) {
                                 ranks->barrier();
                                 if (ranks->rank() == 1) throw std::runtime_error("this one");
                                 std::vector<float> x(10);
                                 ranks->sum(x);
                                 ranks->barrier();
                               }),
                    "this one");
}

TEST_CASE("on_first_rank runs on rank 0 only, and all ranks throw its error with fault and text") {
  in_threads(3, [](const auto& ranks) {
    int ran = 0;
    on_first_rank(*ranks, [&] { ++ran; });
    CHECK(ran == (ranks->rank() == 0));
    try {
      on_first_rank(*ranks, [] { fail_check("no room for {}", 3); });
      CHECK(false);
    } catch (const Error& e) {
      CHECK(e.what() == std::string("no room for 3"));
      CHECK(e.fault() == Fault::check);
    }
  });
}

TEST_CASE("ranks on one machine divide its processors equally") {
  std::mutex lock;
  in_threads(2, [&](const auto& ranks) {
    const int n = threads_per_rank(*ranks);
    const std::lock_guard hold(lock);
    CHECK(n == std::max(1, available_threads() / 2));
  });
}

TEST_CASE("a process is one of several MPI ranks only if the launcher's variables say so") {
  CHECK(!mpi_launch().is_one_of_several);
  CHECK(comm_of_process()->size() == 1);
  {
    const Variables one{{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}};
    CHECK(!mpi_launch().is_one_of_several);
  }
  {
    const Variables second{{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "1"}};
    CHECK(mpi_launch().is_one_of_several);
    CHECK(mpi_launch().rank == 1);
  }
  {
    const Variables slurm{{"SLURM_STEP_NUM_TASKS", "8"}, {"PMIX_RANK", "5"}};
    CHECK(mpi_launch().is_one_of_several);
    CHECK(mpi_launch().rank == 5);
  }
  // Several tasks that were not started by MPI are separate processes, not ranks.
  const Variables tasks{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "5"}};
  CHECK(!mpi_launch().is_one_of_several);
}
