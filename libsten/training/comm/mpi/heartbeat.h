// SPDX-License-Identifier: Apache-2.0
// Rank timeouts: end a run whose ranks do not join in time or stop responding. Each rank sends
// heartbeats to the next one in a ring, from a thread of its own.
#pragma once
#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace sten::mpi_plugin {

// Lives while a rank initializes MPI. After STEN_RANK_TIMEOUT seconds (60), it ends this process
// with a message and exit code 1, upon which the launcher ends the others. MPI would wait forever
// for a process that never initializes it.
class RankTimeout {
 public:
  RankTimeout();
  ~RankTimeout();
  RankTimeout(const RankTimeout&) = delete;
  RankTimeout& operator=(const RankTimeout&) = delete;

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  bool joined_ = false;
  std::thread thread_;
};

// Ends all processes if the previous rank is silent for STEN_RANK_TIMEOUT seconds (20), with a
// message that names the rank and its machine: it was stopped or its machine is gone, and MPI would
// wait forever. A rank that computes, however long, keeps sending. Requires MPI_THREAD_MULTIPLE and
// more than one rank.
class Heartbeat {
 public:
  Heartbeat();
  // Collective.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void run();
  bool hear();

  MPI_Comm comm_ = MPI_COMM_NULL;
  int next_ = 0, before_ = 0;
  char name_[MPI_MAX_PROCESSOR_NAME] = "";  // machine of the previous rank
  double most_;                             // seconds of silence allowed
  std::atomic<bool> leaves_{false};
  std::thread thread_;
};

}  // namespace sten::mpi_plugin
