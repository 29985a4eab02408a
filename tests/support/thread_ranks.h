// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of a test.
#pragma once
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "libsten/core/base/cuda.h"
#include "libsten/training/comm/communicator.h"

namespace sten::testing {

// Simulated properties of the transport.
struct ThreadTransport {
  bool takes_device_memory = false;
  std::chrono::milliseconds sum{}, sum_on_device{};  // added to the time of a sum
};

class ThreadRank final : public Communicator {
 public:
  struct Shared {
    explicit Shared(int n) : meet(n), given(static_cast<std::size_t>(n)) {}
    std::barrier<> meet;
    std::atomic<bool> has_failed = false;     // a rank failed and will not meet the others
    std::vector<std::span<std::byte>> given;  // buffers of the ranks
  };

  struct OtherFailed : std::runtime_error {
    OtherFailed() : runtime_error("another rank failed") {}
  };

  ThreadRank(std::shared_ptr<Shared> shared, int rank, const ThreadTransport& transport)
      : shared_(std::move(shared)), rank_(rank), transport_(transport) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(shared_->given.size()); }
  bool is_one_machine() const override { return false; }  // so that sums overlap
  bool takes_device_memory() const override { return transport_.takes_device_memory; }
  int sums_on_device() const { return sums_on_device_; }
  void barrier() override {
    shared_->meet.arrive_and_wait();
    if (shared_->has_failed) throw OtherFailed();
  }
  bool all_fail() override { return false; }
  [[noreturn]] void abort(int) override { std::terminate(); }

 private:
  // Calls f(buffers of all ranks) between two barriers.
  template <class F>
  void together(std::span<std::byte> mine, F&& f) {
    shared_->given[static_cast<std::size_t>(rank_)] = mine;
    barrier();
    f(shared_->given);
    barrier();
  }
  void add_up(std::span<float> x) {
    std::vector<float> sums(x.size());
    together(std::as_writable_bytes(x), [&](const auto& given) {
      for (const auto& bytes : given) {
        REQUIRE(bytes.size() == x.size_bytes());
        const auto* from = reinterpret_cast<const float*>(bytes.data());
        for (std::size_t i = 0; i < x.size(); ++i) sums[i] += from[i];
      }
    });
    std::ranges::copy(sums, x.begin());
    barrier();
  }
  std::unique_ptr<PendingSum::Work> do_sum(std::span<float> x, Transport) override {
    std::this_thread::sleep_for(transport_.sum);
    add_up(x);
    return nullptr;
  }
  std::unique_ptr<PendingSum::Work> do_sum_on_device(std::span<float> x,
                                                     void (*use_device)()) override {
    REQUIRE(transport_.takes_device_memory);
    ++sums_on_device_;
    std::this_thread::sleep_for(transport_.sum_on_device);
    std::vector<float> here(x.size());
    use_device();
    const kernels::cuda::MemoryFunctions& memory = cuda().memory;
    memory.download(here.data(), x.data(), x.size_bytes(), cuda_stream());
    memory.wait(cuda_stream());
    add_up(here);
    memory.upload(x.data(), here.data(), x.size_bytes(), cuda_stream());
    memory.wait(cuda_stream());
    return nullptr;
  }
  void do_unite(std::span<std::uint64_t> x) override {
    std::vector<std::uint64_t> all(x.size());
    together(std::as_writable_bytes(x), [&](const auto& given) {
      for (const auto& bytes : given) {
        REQUIRE(bytes.size() == x.size_bytes());
        const auto* from = reinterpret_cast<const std::uint64_t*>(bytes.data());
        for (std::size_t i = 0; i < x.size(); ++i) all[i] |= from[i];
      }
    });
    std::ranges::copy(all, x.begin());
    barrier();
  }
  void do_broadcast(std::span<std::byte> x, int from) override {
    together(x, [&](const auto& given) {
      const auto& its = given[static_cast<std::size_t>(from)];
      REQUIRE(its.size() == x.size());
      if (from != rank_) std::ranges::copy(its, x.begin());
    });
  }
  std::vector<std::uint64_t> do_gather(std::uint64_t x) override {
    std::vector<std::uint64_t> all;
    together(std::as_writable_bytes(std::span(&x, 1)), [&](const auto& given) {
      for (const auto& bytes : given)
        all.push_back(*reinterpret_cast<const std::uint64_t*>(bytes.data()));
    });
    return all;
  }
  void do_gather(std::span<const std::uint32_t> x,
                 std::vector<std::vector<std::uint32_t>>& all) override {
    std::vector<std::uint32_t> mine(x.begin(), x.end());
    together(std::as_writable_bytes(std::span(mine)), [&](const auto& given) {
      for (std::size_t r = 0; r < given.size(); ++r) {
        REQUIRE(given[r].size() == all[r].size() * sizeof(std::uint32_t));
        if (!all[r].empty()) std::memcpy(all[r].data(), given[r].data(), given[r].size());
      }
    });
  }

  std::shared_ptr<Shared> shared_;
  int rank_, sums_on_device_ = 0;
  ThreadTransport transport_;
};

// Calls f(rank), with a ThreadRank, in n threads. An exception of a rank is rethrown here, and ends
// the other ranks at their next barrier.
inline void in_threads(int n, const std::function<void(std::shared_ptr<Communicator>)>& f,
                       const ThreadTransport& transport = {}) {
  const auto shared = std::make_shared<ThreadRank::Shared>(n);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(n));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < n; ++rank)
    threads.emplace_back([&, rank] {
      try {
        f(std::make_shared<ThreadRank>(shared, rank, transport));
      } catch (const ThreadRank::OtherFailed&) {
        shared->meet.arrive_and_drop();
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
        shared->has_failed = true;
        shared->meet.arrive_and_drop();
      }
    });
  threads.clear();
  for (const auto& e : errors)
    if (e) std::rethrow_exception(e);
}

}  // namespace sten::testing
