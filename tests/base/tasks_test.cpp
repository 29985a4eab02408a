// SPDX-License-Identifier: Apache-2.0
// ThreadSanitizer runs these tests, too.
#include "libsten/core/base/tasks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("run_tasks runs each task once, also while another thread runs parallel loops") {
  for (const int team : {1, 2, 5}) {
    const Threads scope(team);
    std::vector<int> hits(100);
    std::atomic<Index> sum = 0;
    std::thread beside([&] {
      for (int i = 0; i < 20; ++i) parallel_for(50, 1, [&](Index begin, Index) { sum += begin; });
    });
    run_tasks(100, [&](Index i) { ++hits[i]; });
    beside.join();
    CHECK(std::count(hits.begin(), hits.end(), 1) == 100);
    CHECK(sum == 20 * 49 * 25);
    run_tasks(0, [&](Index) { sum = 0; });
    CHECK(sum > 0);
  }
}

TEST_CASE("run_tasks reports the error of the lowest failing index and stops early") {
  for (const int team : {1, 2, 4}) {
    const Threads scope(team);
    std::atomic<int> started = 0;
    const std::string error = error_of([&] {
      run_tasks(10000, [&](Index i) {
        ++started;
        if (i == 7) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        if (i >= 7) fail("task {}", i);
      });
    });
    CHECK(error == "task 7");
    CHECK(started < 100);
  }
}
