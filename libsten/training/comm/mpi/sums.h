// SPDX-License-Identifier: Apache-2.0
// Background all-reduces of arrays, several at once.
#pragma once
#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "libsten/training/comm/communicator.h"

namespace sten::mpi_plugin {

// Each rank sums one part of an array, which the other ranks send to it, and sends the sum to all.
// As in a ring, 2 (n - 1) / n of the bytes leave a rank, and elements are added in the order of
// ranks for every array size. Open MPI's nonblocking all-reduce sends whole arrays to one rank and
// back if ranks are few.
//
// A thread makes the calls of MPI. It sleeps between polls unless a caller waits for a sum, so that
// it takes little time from computation.
class Sums {
 public:
  // Collective. Without a thread, begin() completes the sum: for an MPI that accepts calls from one
  // thread only.
  explicit Sums(bool has_thread);
  // Collective. No rank may be waiting for a sum.
  ~Sums();
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;

  // Starts a sum. With use_device, as in Communicator::begin_sum_on_device(), in float32; parts are
  // added in host memory.
  std::unique_ptr<PendingSum::Work> begin(std::span<float> x, Transport by,
                                          void (*use_device)() = nullptr);

 private:
  // A segment of an array, whose parts all ranks sum at once.
  class Segment;
  // Unfinished segments of one sum.
  struct Progress {
    std::size_t left = 0;  // under lock_
  };
  class Waiting;

  void run();
  void make_progress();

  int rank_ = 0, size_ = 1;
  // Two communicators, since collective calls must have the same order on all ranks of each: one
  // sends parts to the ranks that sum them, the other sends sums to all.
  MPI_Comm parts_ = MPI_COMM_NULL, sums_ = MPI_COMM_NULL;

  std::mutex lock_;
  std::condition_variable more_, done_;
  std::deque<std::unique_ptr<Segment>> begun_;  // segments that the thread has not seen
  bool ends_ = false;
  std::atomic<int> waiting_{0};  // callers that wait for sums

  std::deque<std::unique_ptr<Segment>> travelling_;  // used by the thread only
  std::thread thread_;
};

}  // namespace sten::mpi_plugin
