// Sums of arrays over ranks that go on by themselves, several at once.
#pragma once
#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "libsten/comm/communicator.h"

namespace sten::mpi_plugin {

// Of an array each rank sums one part, to which the others send theirs, and sends what comes of it to
// all: twice (n - 1) / n of the bytes leave a rank, as in a ring, and numbers are added in the order
// of the ranks whatever the size. Sums of Open MPI that do not wait send the whole array to one rank
// and back where ranks are few.
//
// A thread of its own makes MPI's calls. Between them it sleeps, so that it takes little of a processor
// that computes, unless somebody waits for a sum.
class Sums {
 public:
  // A call of all ranks. Without a thread a sum is done when it was begun: for an MPI that takes calls
  // of one thread alone.
  explicit Sums(bool has_thread);
  // A call of all ranks, of which none waits for a sum any more.
  ~Sums();
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;

  // With use_device as Communicator::begin_sum_on_device(), by float32: parts go to the host's memory, where
  // they are added up.
  std::unique_ptr<PendingSum::Work> begin(std::span<float> x, Transport by,
                                          void (*use_device)() = nullptr);

 private:
  // An array of which all ranks sum their parts at once.
  class Segment;
  // Pieces of one sum.
  struct Progress {
    std::size_t left = 0;  // under lock_
  };
  class Waiting;

  void run();
  void make_progress();

  int rank_ = 0, size_ = 1;
  // Collective calls are the same in the same order on all ranks of a communicator: parts to those who
  // sum them, and sums to all.
  MPI_Comm parts_ = MPI_COMM_NULL, sums_ = MPI_COMM_NULL;

  std::mutex lock_;
  std::condition_variable more_, done_;
  std::deque<std::unique_ptr<Segment>> begun_;  // that the thread has not seen
  bool ends_ = false;
  std::atomic<int> waiting_{0};  // for sums

  std::deque<std::unique_ptr<Segment>> travelling_;  // the thread's alone
  std::thread thread_;
};

}  // namespace sten::mpi_plugin
