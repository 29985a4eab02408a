// SPDX-License-Identifier: Apache-2.0
// ThreadSanitizer runs these tests, too.
#include "libsten/core/base/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "libsten/core/base/parallel_region.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("parallel_for covers each index once, in ranges that start at multiples of the grain") {
  for (int t : {1, 2, 3, 4}) {
    const Threads scope(t);
    for (Index n : {0, 1, 2, 7, 8, 9, 100, 1001})
      for (Index grain : {-1, 0, 1, 3, 8, 100, 5000}) {
        std::vector<int> hits(n);
        std::atomic<bool> aligned = true;
        const Index step = std::max<Index>(1, grain);
        parallel_for(n, grain, [&](Index begin, Index end) {
          if (begin % step || end <= begin || end > n || (end != n && end - begin != step))
            aligned = false;
          for (Index i = begin; i < end; ++i) ++hits[i];
        });
        CAPTURE(t);
        CAPTURE(n);
        CAPTURE(grain);
        CHECK(aligned);
        CHECK(std::count(hits.begin(), hits.end(), 1) == n);
      }
  }
}

TEST_CASE("parallel_for rethrows an exception of its body, and the next loop runs normally") {
  for (int t : {1, 2, 4}) {
    const Threads scope(t);
    for (int round = 0; round < 20; ++round) {
      CHECK_THROWS_WITH_AS(parallel_for(1000, 1,
                                        [](Index begin, Index) {
                                          if (begin % 10 == 3) throw std::runtime_error("three");
                                        }),
                           "three", std::runtime_error);
      std::atomic<Index> sum = 0;
      parallel_for(100, 7, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) sum += i;
      });
      CHECK(sum == 4950);
    }
  }
}

TEST_CASE("a parallel loop stops early after an exception") {
  const Threads scope(2);
  std::atomic<int> calls = 0;
  CHECK_THROWS(parallel_for(1000000, 1, [&](Index, Index) {
    if (++calls >= 10) throw std::runtime_error("enough");
  }));
  CHECK(calls < 1000000);
}

TEST_CASE("a nested parallel loop runs on the calling thread only") {
  const Threads scope(3);
  std::vector<Index> sums(20);
  std::atomic<bool> same_thread = true;
  parallel_for(20, 1, [&](Index begin, Index) {
    const auto me = std::this_thread::get_id();
    parallel_for(100, 3, [&](Index b, Index e) {
      if (std::this_thread::get_id() != me) same_thread = false;
      for (Index i = b; i < e; ++i) sums[begin] += i;
    });
  });
  CHECK(same_thread);
  for (Index s : sums) CHECK(s == 4950);
}

TEST_CASE("an exception in a nested parallel loop propagates out of the outer loop") {
  const Threads scope(2);
  CHECK_THROWS_AS(
      parallel_for(8, 1,
                   [](Index, Index) { parallel_for(8, 1, [](Index, Index) { fail("inside"); }); }),
      Error);
  std::atomic<int> calls = 0;
  parallel_for(8, 1, [&](Index, Index) { ++calls; });
  CHECK(calls == 8);
}

TEST_CASE("set_threads sets the number of threads, with a minimum of 1") {
  const Threads scope(3);
  CHECK(threads() == 3);
  set_threads(0);
  CHECK(threads() == 1);
  set_threads(-5);
  CHECK(threads() == 1);
  CHECK(available_threads() >= 1);
}

TEST_CASE("with one thread, a parallel loop runs in order on the calling thread") {
  const Threads scope(1);
  std::vector<Index> begins;
  const auto me = std::this_thread::get_id();
  bool here = true;
  parallel_for(10, 4, [&](Index begin, Index) {
    begins.push_back(begin);
    here &= std::this_thread::get_id() == me;
  });
  CHECK(here);
  CHECK(begins == std::vector<Index>{0, 4, 8});
}

TEST_CASE("concurrent parallel loops tolerate changes of the thread count") {
  const Threads scope(2);
  std::atomic<Index> total = 0;
  const auto work = [&] {
    for (int round = 0; round < 50; ++round)
      parallel_for(100, 5, [&](Index begin, Index end) { total += end - begin; });
  };
  std::thread a(work), b(work);
  for (int i = 0; i < 20; ++i) set_threads(1 + i % 3);
  a.join();
  b.join();
  CHECK(total == 10000);
}

TEST_CASE("a thread that finishes its share of a parallel loop steals another thread's work") {
  const Threads scope(2);
  constexpr Index n = 16;
  std::atomic<Index> others = 0;
  bool was_helped = false;
  parallel_for(n, 1, [&](Index begin, Index) {
    if (begin != 0) {
      ++others;
      return;
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (others < n - 1 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    was_helped = others == n - 1;
  });
  CHECK(was_helped);
}

TEST_CASE("parallel loops run while cores are lent to another library") {
  const Threads scope(3);
  const LentCores lent(2);
  std::atomic<Index> sum = 0;
  parallel_for(100, 1, [&](Index begin, Index) { sum += begin; });
  CHECK(sum == 4950);
}

TEST_CASE("parallel loops can run on the threads of another library") {
  const Threads scope(3);
  static std::atomic<unsigned> asked = 0;
  set_parallel_region([](void (*body)(void*), void* data, unsigned threads, unsigned) {
    asked = threads;
    std::thread other(body, data);  // fewer than wanted, as OpenMP may give
    body(data);
    other.join();
  });
  std::atomic<Index> sum = 0;
  parallel_for(100, 1, [&](Index begin, Index) { sum += begin; });
  CHECK(sum == 4950);
  CHECK(asked == 3);
  CHECK_THROWS_WITH(parallel_for(9, 1, [](Index, Index) { throw std::runtime_error("stop"); }),
                    "stop");
  set_parallel_region(nullptr);
  asked = 0;
  parallel_for(100, 1, [&](Index, Index) { ++sum; });
  CHECK(sum == 5050);
  CHECK(asked == 0);
}
