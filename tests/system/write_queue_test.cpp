// SPDX-License-Identifier: Apache-2.0
// ThreadSanitizer runs these tests, too.
#include "libsten/files/system/write_queue.h"

#include <doctest/doctest.h>

#include <atomic>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"

using namespace sten;

TEST_CASE("queued tasks run in order, with one thread and with several") {
  for (const int team : {1, 3}) {
    set_threads(team);
    std::vector<int> order;
    WriteQueue queue(100);
    for (int i = 0; i < 50; ++i) queue.push(10, [&order, i] { order.push_back(i); });
    queue.wait();
    REQUIRE(order.size() == 50);
    for (int i = 0; i < 50; ++i) CHECK(order[i] == i);
  }
  set_threads(available_threads());
}

TEST_CASE("push blocks until the waiting tasks fit the bound") {
  set_threads(2);
  std::atomic<int> waiting{0}, most{0};
  {
    WriteQueue queue(30);
    for (int i = 0; i < 200; ++i) {
      ++waiting;
      queue.push(10, [&] { --waiting; });
      most = std::max(most.load(), waiting.load());
    }
    queue.wait();
  }
  CHECK(most <= 4);  // three that wait, and one that has run but not been counted
  set_threads(available_threads());
}

TEST_CASE("the exception of a queued task is rethrown to the caller, and later tasks do not run") {
  for (const int team : {1, 2}) {
    set_threads(team);
    bool later = false;
    const auto failing = [&] {
      WriteQueue queue(0);
      queue.push(1, [] { fail("disk full"); });
      queue.push(1, [&] { later = true; });
      queue.wait();
    };
    CHECK_THROWS_WITH_AS(failing(), "disk full", Error);
    CHECK_FALSE(later);
  }
  set_threads(available_threads());
}
