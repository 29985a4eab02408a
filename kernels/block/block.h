// SPDX-License-Identifier: Apache-2.0
// Block kernels: bodies over a block of threads. CUDA and, phase by phase, the CPU compile the same
// source.
//
// A body is a function template over a Block. Threads work in phases,
// b.for_each_thread([&](int t) {...}), and a phase ends when all threads have finished. Within a
// phase no thread reads or writes elements that another thread writes, except by the atomic
// operations of the Block. Between phases the code is uniform over the threads and reads shared
// memory only by b.read(). So the result does not depend on the order of the threads.
//
// A Block has
//   Shared<T>                 an array in shared memory; s[i] reads and writes
//   shared<T>(n)              allocates an array, uninitialized, 16-byte aligned
//   threads()
//   for_each_thread(f)
//   read(s, i)                between phases
//   add(s, i, v)              atomic sum of integers; the phase has no other access of s[i]
//   add_global(p, v)          the same for *p in device memory, atomic over all blocks
//   or_bits(bits, w, v)       sets the bits of v in the 32 bits from bit 32 w on, atomic over all
//                             blocks. The array is 4-byte aligned. A device can access the whole
//                             word; the CPU accesses only bytes in which v has bits
//   copy_later(s, i, p)       s[i] = *p, asynchronous copy of 16 aligned bytes of device memory;
//                             in the same phase, the thread has to wait by
//   end_copies()
//   PerThread<T>, per_thread<T>()    a T per thread that lasts over phases: own(t) of thread t
//   mark(), reset(m)          between phases: frees the shared memory allocated since the mark
// A Block of 32 threads also has, between phases,
//   least(f), most(f), sum(f)    of 32-bit integers f(t); least also of 64-bit integers
//   votes(f)                     one bit per thread: whether f(t) is true
//   scan(f, g)                   calls g(t, sum of f over the threads before t)
//   fold(f, c)                   tree reduction: combines f(t) and f(t + 16) by c for t < 16, then
//                                t and t + 8, and so on; values of 4 or 8 bytes
// where f only reads, or writes memory of its own thread.
#pragma once
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/device.h"

namespace sten::kernels {

// Offsets of arrays in the shared memory of a block, the same for all kinds of Blocks.
class SharedLayout {
 public:
  template <class T>
  STEN_HOST_DEVICE std::size_t take(std::int64_t n) {
    const std::size_t at = used_;
    used_ += (static_cast<std::size_t>(n) * sizeof(T) + 15) / 16 * 16;
    return at;
  }
  STEN_HOST_DEVICE std::size_t used() const { return used_; }
  STEN_HOST_DEVICE void reset(std::size_t used) { used_ = used; }

 private:
  std::size_t used_ = 0;
};

// or_bits() of the Blocks on the CPU.
inline void or_bits_of(std::uint8_t* bits, std::int64_t word, std::uint32_t v) {
  for (bits += 4 * word; v != 0; v >>= 8, ++bits)
    if (v & 0xff) *bits = static_cast<std::uint8_t>(*bits | v);
}

// per_thread() of the Blocks on the CPU.
template <class T>
class EachThreads {
 public:
  explicit EachThreads(int threads) : all_(static_cast<std::size_t>(threads)) {}
  T& operator()(int t) { return all_[static_cast<std::size_t>(t)]; }

 private:
  std::vector<T> all_;
};

// Reductions over the threads of a Block on the CPU, built from its phases.
template <class Block, class F, class Combine>
auto combined(Block& b, F&& f, Combine&& combine) {
  assert(b.threads() == 32);
  decltype(f(0)) all{};
  bool any = false;
  b.for_each_thread([&](int t) {
    all = any ? combine(all, f(t)) : f(t);
    any = true;
  });
  return all;
}
template <class Block>
class Together {
 public:
  template <class F>
  auto least(F&& f) {
    return combined(self(), f, [](auto x, auto y) { return y < x ? y : x; });
  }
  template <class F>
  auto most(F&& f) {
    return combined(self(), f, [](auto x, auto y) { return x < y ? y : x; });
  }
  template <class F>
  auto sum(F&& f) {
    return combined(self(), f, [](auto x, auto y) { return x + y; });
  }
  template <class F>
  std::uint32_t votes(F&& f) {
    const auto bit = [&](int t) { return static_cast<std::uint32_t>(bool(f(t))) << t; };
    return combined(self(), bit, [](auto x, auto y) { return x | y; });
  }
  template <class F, class G>
  void scan(F&& f, G&& g) {
    decltype(f(0)) of[32] = {};
    self().for_each_thread([&](int t) { of[t] = f(t); });
    self().for_each_thread([&](int t) {
      decltype(f(0)) before{};
      for (int i = 0; i < t; ++i) before += of[i];
      g(t, before);
    });
  }
  template <class F, class Combine>
  auto fold(F&& f, Combine&& combine) {
    assert(self().threads() == 32);
    decltype(f(0)) of[32] = {};
    self().for_each_thread([&](int t) { of[t] = f(t); });
    for (int half = 16; half > 0; half /= 2)
      for (int t = 0; t < half; ++t) of[t] = combine(of[t], of[t + half]);
    return of[0];
  }

 private:
  Block& self() { return static_cast<Block&>(*this); }
};

// A Block on the CPU that runs one thread after the other.
class SerialBlock : public Together<SerialBlock> {
 public:
  template <class T>
  using Shared = T*;

  // memory: 16-byte aligned.
  SerialBlock(int threads, std::byte* memory, std::size_t bytes)
      : threads_(threads), memory_(memory), bytes_(bytes) {}

  int threads() const { return threads_; }
  template <class T>
  T* shared(std::int64_t n) {
    std::byte* at = memory_ + layout_.take<T>(n);
    assert(layout_.used() <= bytes_);
    return reinterpret_cast<T*>(at);
  }
  std::size_t mark() const { return layout_.used(); }
  void reset(std::size_t mark) { layout_.reset(mark); }
  template <class F>
  void for_each_thread(F&& f) {
    for (int t = 0; t < threads_; ++t) f(t);
  }
  template <class T>
  T read(const T* s, std::int64_t i) const {
    return s[i];
  }
  template <class T>
  void add(T* s, std::int64_t i, T v) const {
    s[i] += v;
  }
  template <class T>
  void add_global(T* p, T v) const {
    *p += v;
  }
  void or_bits(std::uint8_t* bits, std::int64_t word, std::uint32_t v) const {
    or_bits_of(bits, word, v);
  }
  template <class T>
  void copy_later(T* s, std::int64_t i, const T* p) const {
    static_assert(sizeof(T) == 16);
    s[i] = *p;
  }
  void end_copies() const {}
  template <class T>
  using PerThread = EachThreads<T>;
  template <class T>
  EachThreads<T> per_thread() const {
    return EachThreads<T>(threads_);
  }

 private:
  int threads_;
  std::byte* memory_;
  [[maybe_unused]] std::size_t bytes_;
  SharedLayout layout_;
};

// A Block without threads that counts the shared memory of a body.
class CountingBlock {
 public:
  template <class T>
  using Shared = T*;
  template <class T>
  using PerThread = EachThreads<T>;

  explicit CountingBlock(int threads = 0) : threads_(threads) {}

  STEN_HOST_DEVICE int threads() const { return threads_; }
  template <class T>
  STEN_HOST_DEVICE T* shared(std::int64_t n) {
    layout_.take<T>(n);
    return nullptr;
  }
  std::size_t used() const { return layout_.used(); }

 private:
  int threads_;
  SharedLayout layout_;
};

// Within a phase: f(i) for 0 <= i < n; thread t runs every threads()-th i, starting with t.
template <class Block, class F>
STEN_DEVICE void each_of(const Block& b, int t, std::int64_t n, F&& f) {
  for (std::int64_t i = t; i < n; i += b.threads()) f(i);
}
// The same for f(i, j), 0 <= i < n and 0 <= j < inner, neighbours in j, without divisions.
template <class Block, class F>
STEN_DEVICE void each_pair(const Block& b, int t, std::int64_t n, std::int64_t inner, F&& f) {
  for (std::int64_t i = 0, j = t;; j += b.threads()) {
    for (; j >= inner && i < n; ++i) j -= inner;
    if (i >= n) return;
    f(i, j);
  }
}

// How many threads get at least one of n elements; at least 1.
STEN_HOST_DEVICE inline int threads_for(std::int64_t n, int threads) {
  return n >= threads ? threads : n > 1 ? static_cast<int>(n) : 1;
}

// Reduces v(t) by the commutative `combine` over all threads, or over the first `used` if it is not
// 0. scratch [threads()].
template <class T, class Block, class V, class Combine>
STEN_DEVICE T reduce(Block& b, typename Block::template Shared<T> scratch, V&& v, Combine&& combine,
                     int used = 0) {
  const int all = used > 0 ? used : b.threads();
  b.for_each_thread([&](int t) {
    if (used == 0 || t < used) scratch[t] = v(t);
  });
  int half = 1;
  while (2 * half < all) half *= 2;
  for (; half > 0; half /= 2)
    b.for_each_thread([&](int t) {
      if (t < half && t + half < all)
        scratch[t] = combine(static_cast<T>(scratch[t]), static_cast<T>(scratch[t + half]));
    });
  return b.read(scratch, 0);
}

}  // namespace sten::kernels
