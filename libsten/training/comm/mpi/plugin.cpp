// SPDX-License-Identifier: Apache-2.0
// libsten_mpi.so: the transport of Open MPI. No other library is linked with MPI.
#include "libsten/training/comm/mpi_plugin.h"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "libsten/training/comm/mpi/heartbeat.h"
#include "libsten/training/comm/mpi/sums.h"

namespace {

// Splits x, because MPI counts in int.
template <class T, class F>
void in_segments(std::span<T> x, F&& f) {
  constexpr std::size_t most = std::size_t{1} << 28;
  for (std::size_t i = 0; i < x.size(); i += most)
    f(x.data() + i, static_cast<int>(std::min(most, x.size() - i)));
}

using Clock = std::chrono::steady_clock;

// Whether all ranks call this within `most`. MPI's own barrier occupies a processor while it waits.
// This barrier sleeps between polls once the wait exceeds the usual difference between ranks in a
// step.
bool meet(MPI_Comm comm, Clock::duration most = Clock::duration::max()) {
  using namespace std::chrono;
  constexpr auto soon = milliseconds(10);
  MPI_Request request;
  MPI_Ibarrier(comm, &request);
  const auto begin = Clock::now();
  for (;;) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    const auto waited = Clock::now() - begin;
    if (done || waited >= most) return done;
    if (waited < soon)
      sched_yield();
    else  // the wait becomes at most 1 % longer
      std::this_thread::sleep_for(
          std::clamp<Clock::duration>(waited / 100, microseconds(100), milliseconds(2)));
  }
}

// Whether the loaded MPI reports support of CUDA memory.
bool is_cuda_aware() {
#ifdef OMPI_HAVE_MPI_EXT_CUDA
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

// MPI errors end all processes with a message of MPI.
class MpiRanks final : public sten::Communicator {
 public:
  MpiRanks() {
    const sten::mpi_plugin::RankTimeout joining;
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    // A communicator of its own, so that all_fail() does not match calls in which other ranks wait.
    MPI_Comm_dup(MPI_COMM_WORLD, &failures_);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm here = MPI_COMM_NULL;
    int beside = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &beside);
    MPI_Comm_free(&here);
    is_one_machine_ = beside == size_;
    // On all ranks or none, since they must make the same calls.
    int is_aware = is_cuda_aware();
    MPI_Allreduce(MPI_IN_PLACE, &is_aware, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    takes_device_memory_ = is_aware;
    sums_.emplace(size_ > 1 && provided == MPI_THREAD_MULTIPLE);
    if (size_ == 1) return;
    if (provided == MPI_THREAD_MULTIPLE)
      heartbeat_.emplace();
    else if (rank_ == 0)
      std::fputs(
          "warning: this MPI takes calls of one thread alone: nobody sees whether a rank stopped, "
          "and nothing is computed while gradients travel\n",
          stderr);
  }
  ~MpiRanks() override {
    sums_.reset();
    heartbeat_.reset();
    MPI_Comm_free(&failures_);
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool is_one_machine() const override { return is_one_machine_; }
  bool takes_device_memory() const override { return takes_device_memory_; }
  void barrier() override {
    meet(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);  // lets all ranks continue at the same time
  }

  bool all_fail() override { return meet(failures_, std::chrono::seconds(2)); }
  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  std::unique_ptr<sten::PendingSum::Work> do_sum(std::span<float> x, sten::Transport by) override {
    return sums_->begin(x, by);
  }
  std::unique_ptr<sten::PendingSum::Work> do_sum_on_device(std::span<float> x,
                                                           void (*use_device)()) override {
    return sums_->begin(x, sten::Transport::float32, use_device);
  }
  void do_unite(std::span<std::uint64_t> x) override {
    meet(MPI_COMM_WORLD);  // rank 0 is late after an evaluation or output
    in_segments(x, [](std::uint64_t* at, int n) {
      MPI_Allreduce(MPI_IN_PLACE, at, n, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD);
    });
  }
  void do_broadcast(std::span<std::byte> x, int from) override {
    meet(MPI_COMM_WORLD);
    in_segments(x,
                [from](std::byte* at, int n) { MPI_Bcast(at, n, MPI_BYTE, from, MPI_COMM_WORLD); });
  }
  std::vector<std::uint64_t> do_gather(std::uint64_t x) override {
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size_));
    meet(MPI_COMM_WORLD);
    MPI_Allgather(&x, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    return all;
  }
  // In rounds, because MPI counts in int.
  void do_gather(std::span<const std::uint32_t> x,
                 std::vector<std::vector<std::uint32_t>>& all) override {
    meet(MPI_COMM_WORLD);
    const std::size_t most = (std::size_t{1} << 28) / all.size();  // of a rank in a round
    std::size_t longest = 0;
    for (const auto& one : all) longest = std::max(longest, one.size());
    std::vector<int> counts(all.size()), at(all.size());
    std::vector<std::uint32_t> received;
    for (std::size_t from = 0; from < longest; from += most) {
      int total = 0;
      for (std::size_t r = 0; r < all.size(); ++r) {
        at[r] = total;
        counts[r] = static_cast<int>(std::min(most, all[r].size() - std::min(from, all[r].size())));
        total += counts[r];
      }
      received.resize(static_cast<std::size_t>(total));
      MPI_Allgatherv(x.data() + std::min(from, x.size()), counts[static_cast<std::size_t>(rank_)],
                     MPI_UINT32_T, received.data(), counts.data(), at.data(), MPI_UINT32_T,
                     MPI_COMM_WORLD);
      for (std::size_t r = 0; r < all.size(); ++r)
        std::copy_n(received.data() + at[r], counts[r],
                    all[r].data() + std::min(from, all[r].size()));
    }
  }

  MPI_Comm failures_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool is_one_machine_ = true, takes_device_memory_ = false;
  std::optional<sten::mpi_plugin::Heartbeat> heartbeat_;
  std::optional<sten::mpi_plugin::Sums> sums_;
};

}  // namespace

extern "C" const char* sten_mpi_version() { return STEN_VERSION; }
extern "C" sten::Communicator* sten_mpi_communicator() { return new MpiRanks; }
