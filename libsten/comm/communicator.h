// Processes that compute together: what they tell each other.
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

// How numbers travel. As bfloat16 a rank's numbers are rounded to that, added up in float32, and the
// sums rounded again: half of the bytes.
enum class Transport { float32, bfloat16 };

// As recipes and command lines name it.
inline std::optional<Transport> transport_from(std::string_view name) {
  if (name == "float32") return Transport::float32;
  if (name == "bfloat16") return Transport::bfloat16;
  return std::nullopt;
}
// Of a number on its way.
constexpr std::size_t bytes_of(Transport by) { return by == Transport::float32 ? 4 : 2; }

// A sum that goes on while its rank computes. Its numbers are not to be touched until it is done;
// the destructor waits for that, too.
class PendingSum {
 public:
  // What a transport does for it.
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

// Ranks 0 to size() - 1, each a process. Unless it says otherwise, a call is one of all ranks: each
// makes the same calls in the same order, with spans of the same size, and waits for the others. A
// transport that fails ends the processes.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;  // a call of all ranks

  // Of one rank alone.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Whether what travels goes through memory alone.
  virtual bool is_one_machine() const = 0;

  // Each number of x becomes its sum over ranks, from rank 0 on: the same bits on each of them, and
  // whether it was summed alone or among others.
  void sum(std::span<float> x, Transport by = Transport::float32) { begin_sum(x, by).wait(); }
  // Others may be begun before it is done, and other calls made.
  PendingSum begin_sum(std::span<float> x, Transport by = Transport::float32) {
    bytes_ += x.size() * bytes_of(by);
    return PendingSum(do_sum(x, by));
  }
  // Whether the transport reads and writes a device's memory.
  virtual bool takes_device_memory() const { return false; }
  // Where it does: begin_sum() as float32 of numbers in such memory, to which nothing is still to be
  // done there. use_device() makes it the device of the thread that calls it.
  PendingSum begin_sum_on_device(std::span<float> x, void (*use_device)()) {
    bytes_ += x.size_bytes();
    return PendingSum(do_sum_on_device(x, use_device));
  }
  // Each bit becomes 1 where it is 1 on any rank.
  void unite(std::span<std::uint64_t> x) {
    bytes_ += x.size_bytes();
    do_unite(x);
  }
  // x becomes that of one rank.
  void broadcast(std::span<std::byte> x, int from = 0) {
    bytes_ += x.size_bytes();
    do_broadcast(x, from);
  }
  // That of each rank, in their order.
  std::vector<std::uint64_t> gather(std::uint64_t x) {
    bytes_ += sizeof x;
    return do_gather(x);
  }
  virtual void barrier() = 0;

  // Of a rank that cannot go on: whether all ranks ask so within two seconds, as they do after an
  // Error that each of them has. Nothing but the end comes after it.
  virtual bool all_fail() = 0;
  // Of one rank: ends the processes of all, with this exit code.
  [[noreturn]] virtual void abort(int code) = 0;

  // That this rank gave to sums, unions, broadcasts and gatherings so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  // nullptr: it is done.
  virtual std::unique_ptr<PendingSum::Work> do_sum(std::span<float> x, Transport by) = 0;
  virtual std::unique_ptr<PendingSum::Work> do_sum_on_device(std::span<float>, void (*)()) {
    throw std::logic_error("a transport that takes no memory of a device got some");
  }
  virtual void do_unite(std::span<std::uint64_t> x) = 0;
  virtual void do_broadcast(std::span<std::byte> x, int from) = 0;
  virtual std::vector<std::uint64_t> do_gather(std::uint64_t x) = 0;

  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace sten
