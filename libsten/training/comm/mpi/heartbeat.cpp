// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/comm/mpi/heartbeat.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace sten::mpi_plugin {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto pause = std::chrono::milliseconds(100);
constexpr int alive_tag = 0, leaves = 1;  // tags

double timeout(double usual) {
  const char* text = std::getenv("STEN_RANK_TIMEOUT");
  const double seconds = text ? std::strtod(text, nullptr) : 0;
  return seconds > 0 ? seconds : usual;
}

}  // namespace

RankTimeout::RankTimeout() {
  thread_ = std::thread([this] {
    const double most = timeout(60);
    // Staggered by rank: the first process that ends, ends all, so that one message is printed.
    const char* number = std::getenv("OMPI_COMM_WORLD_RANK");
    const double turn = 0.3 * std::clamp(number ? std::strtod(number, nullptr) : 0, 0.0, 10.0);
    std::unique_lock hold(lock_);
    if (changed_.wait_for(hold, std::chrono::duration<double>(most + turn),
                          [&] { return joined_; }))
      return;
    std::fprintf(stderr,
                 "%s: not all ranks have begun after %g s: does each of them run this program?\n",
                 program_invocation_short_name, most);
    _exit(1);
  });
}

RankTimeout::~RankTimeout() {
  {
    const std::lock_guard hold(lock_);
    joined_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Heartbeat::Heartbeat() : most_(timeout(20)) {
  int rank = 0, size = 1, length = 0;
  char mine[MPI_MAX_PROCESSOR_NAME] = "";
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_rank(comm_, &rank);
  MPI_Comm_size(comm_, &size);
  next_ = (rank + 1) % size;
  before_ = (rank + size - 1) % size;
  MPI_Get_processor_name(mine, &length);
  MPI_Sendrecv(mine, sizeof mine, MPI_CHAR, next_, 0, name_, sizeof name_, MPI_CHAR, before_, 0,
               comm_, MPI_STATUS_IGNORE);
  thread_ = std::thread([this] { run(); });
}

Heartbeat::~Heartbeat() {
  leaves_ = true;
  thread_.join();
  MPI_Comm_free(&comm_);
}

// Receives a heartbeat; whether the previous rank leaves.
bool Heartbeat::hear() {
  MPI_Status status;
  char nothing;
  MPI_Recv(&nothing, 0, MPI_CHAR, before_, MPI_ANY_TAG, comm_, &status);
  return status.MPI_TAG == leaves;
}

void Heartbeat::run() {
  const auto seconds_since = [](Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
  };
  Clock::time_point heard = Clock::now(), awake = heard, said{};
  bool has_left = false, is_left = false;  // this rank, and the previous rank
  while (!has_left || !is_left) {
    if (!has_left && (leaves_ || seconds_since(said) >= 1)) {
      has_left = leaves_;
      MPI_Send(nullptr, 0, MPI_CHAR, next_, has_left ? leaves : alive_tag, comm_);
      said = Clock::now();
    }
    for (int waits = 1; !is_left && waits;) {
      MPI_Iprobe(before_, MPI_ANY_TAG, comm_, &waits, MPI_STATUS_IGNORE);
      if (!waits) break;
      is_left = hear();
      heard = Clock::now();
    }
    // A process that was itself stopped has not received heartbeats.
    if (seconds_since(awake) > 1) heard = Clock::now();
    awake = Clock::now();
    if (!is_left && seconds_since(heard) > most_) {
      std::fprintf(stderr, "%s: rank %d on %s has not answered for %g s: it is stopped or gone\n",
                   program_invocation_short_name, before_, name_, most_);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace sten::mpi_plugin
