// Whether the ranks join, and are alive: each tells the next one, around a ring, from a thread of its
// own.
#pragma once
#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace sten::mpi_plugin {

// For as long as a rank begins MPI with the others. Ends this process, for which its launcher ends the
// others, with a line and exit code 1 once that takes STEN_RANK_TIMEOUT seconds (60): MPI waits for
// ever for a process that never begins it.
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

// Ends all processes with a line that names the rank before this one, on its machine, once that has
// said nothing for STEN_RANK_TIMEOUT seconds (20): it was stopped, or its machine is gone, and MPI
// alone would wait for ever. A rank that computes, however long, goes on saying that it is there.
// Needs MPI_THREAD_MULTIPLE, and more than one rank.
class Heartbeat {
 public:
  Heartbeat();
  // A call of all ranks.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void run();
  bool hear();

  MPI_Comm comm_ = MPI_COMM_NULL;
  int next_ = 0, before_ = 0;
  char name_[MPI_MAX_PROCESSOR_NAME] = "";  // the machine of the one before
  double most_;                             // seconds of silence
  std::atomic<bool> leaves_{false};
  std::thread thread_;
};

}  // namespace sten::mpi_plugin
