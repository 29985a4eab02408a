// Processes that compute together: what they tell each other.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sten {

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

  // x becomes the sum over ranks, with the same bits on each of them, and the same again for the
  // same numbers at the same size(). `x` may be any part of what is to be summed: who has parts
  // ready before others may sum them first.
  void sum(std::span<float> x) {
    bytes_ += x.size_bytes();
    do_sum(x);
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

  // That this rank gave to sums, broadcasts and gatherings so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  virtual void do_sum(std::span<float> x) = 0;
  virtual void do_broadcast(std::span<std::byte> x, int from) = 0;
  virtual std::vector<std::uint64_t> do_gather(std::uint64_t x) = 0;

  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace sten
