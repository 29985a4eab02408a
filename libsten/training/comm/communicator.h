// SPDX-License-Identifier: Apache-2.0
// Communicator: the ranks that compute together, and the collective calls between them.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace sten {

// Dtype in which gradients travel. For bfloat16, values are rounded, summed in float32, and the
// sums rounded again: half of the bytes.
enum class Transport { float32, bfloat16 };

// The transport by its name in recipes and on command lines.
inline std::optional<Transport> transport_from(std::string_view name) {
  if (name == "float32") return Transport::float32;
  if (name == "bfloat16") return Transport::bfloat16;
  return std::nullopt;
}
constexpr std::size_t bytes_of(Transport by) { return by == Transport::float32 ? 4 : 2; }

// An all-reduce that runs in the background. Its array must not be used before it is done. The
// destructor waits.
class PendingSum {
 public:
  // The transport's part of the operation.
  class Work {
   public:
    virtual ~Work() = default;
    virtual bool is_done() = 0;
    virtual void wait() = 0;
  };

  explicit PendingSum(std::unique_ptr<Work> work) : work_(std::move(work)) {}
  PendingSum(PendingSum&&) = default;
  PendingSum& operator=(PendingSum&& other) noexcept {
    wait();
    work_ = std::move(other.work_);
    return *this;
  }
  ~PendingSum() { wait(); }

  bool is_done() { return !work_ || work_->is_done(); }
  void wait() {
    if (work_) work_->wait();
    work_.reset();
  }

 private:
  std::unique_ptr<Work> work_;  // nullptr: done
};

// Ranks 0 to size() - 1, one process each. Calls are collective unless documented otherwise: all
// ranks make the same calls in the same order, with spans of equal size, and wait for each other. A
// transport that fails ends the processes.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;  // collective

  // Not collective.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Whether messages pass through memory only.
  virtual bool is_one_machine() const = 0;

  // All-reduce: replaces each element of x by its sum over ranks, added in the order of ranks. The
  // result is the same bit for bit on all ranks, and for every division into calls.
  void sum(std::span<float> x, Transport by = Transport::float32) { begin_sum(x, by).wait(); }
  // Starts sum(). Other sums may start, and other calls be made, before it is done.
  PendingSum begin_sum(std::span<float> x, Transport by = Transport::float32) {
    bytes_ += x.size() * bytes_of(by);
    return PendingSum(do_sum(x, by));
  }
  // Whether the transport can access device memory.
  virtual bool takes_device_memory() const { return false; }
  // begin_sum() in float32 of an array in device memory whose pending work is complete.
  // use_device() makes the device current on the thread that calls it. Requires
  // takes_device_memory().
  PendingSum begin_sum_on_device(std::span<float> x, void (*use_device)()) {
    bytes_ += x.size_bytes();
    return PendingSum(do_sum_on_device(x, use_device));
  }
  // All-reduce by bitwise or.
  void unite(std::span<std::uint64_t> x) {
    bytes_ += x.size_bytes();
    do_unite(x);
  }
  // Copies x of rank `from` to all ranks.
  void broadcast(std::span<std::byte> x, int from = 0) {
    bytes_ += x.size_bytes();
    do_broadcast(x, from);
  }
  // All-gather: x of every rank, in the order of ranks.
  std::vector<std::uint64_t> gather(std::uint64_t x) {
    bytes_ += sizeof x;
    return do_gather(x);
  }
  // All-gather of spans of any lengths: x of every rank, in the order of ranks.
  std::vector<std::vector<std::uint32_t>> gather(std::span<const std::uint32_t> x) {
    std::vector<std::vector<std::uint32_t>> all;
    for (const std::uint64_t size : gather(std::uint64_t{x.size()}))
      all.emplace_back(static_cast<std::size_t>(size));
    bytes_ += x.size_bytes();
    do_gather(x, all);
    return all;
  }
  virtual void barrier() = 0;

  // For a rank that cannot continue: whether all ranks call this within two seconds, as they do
  // after an Error that all have. Make no calls afterwards.
  virtual bool all_fail() = 0;
  // Not collective: ends the processes of all ranks with this exit code.
  [[noreturn]] virtual void abort(int code) = 0;

  // Bytes that this rank has passed to sums, unions, broadcasts and gathers.
  std::uint64_t bytes() const { return bytes_; }

 private:
  // nullptr: done.
  virtual std::unique_ptr<PendingSum::Work> do_sum(std::span<float> x, Transport by) = 0;
  virtual std::unique_ptr<PendingSum::Work> do_sum_on_device(std::span<float>, void (*)()) {
    throw std::logic_error("a transport that takes no memory of a device got some");
  }
  virtual void do_unite(std::span<std::uint64_t> x) = 0;
  virtual void do_broadcast(std::span<std::byte> x, int from) = 0;
  virtual std::vector<std::uint64_t> do_gather(std::uint64_t x) = 0;
  // Writes to `all`, whose elements have the lengths of the ranks' spans.
  virtual void do_gather(std::span<const std::uint32_t> x,
                         std::vector<std::vector<std::uint32_t>>& all) = 0;

  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace sten
