// SPDX-License-Identifier: Apache-2.0
// Interruptions: deferred and immediate.
#include "libsten/core/base/interrupt.h"

#include <doctest/doctest.h>

#include <csignal>

#include "tests/support/child.h"

using namespace sten;

TEST_CASE("the first interruption is noted, and the second does what it did before") {
  const ChildEnd first = run_in_child([] {
    const NotedInterrupts interrupts;
    raise(SIGTERM);
    if (NotedInterrupts::noted() != SIGTERM) _exit(1);
  });
  CHECK(first.code == 0);
  const ChildEnd second = run_in_child([] {
    const NotedInterrupts interrupts;
    raise(SIGTERM);
    raise(SIGINT);
  });
  CHECK(second.signal == SIGINT);
}

TEST_CASE("once nobody notes them, interruptions end a process again, and ignored ones stay so") {
  const ChildEnd after = run_in_child([] {
    { const NotedInterrupts interrupts; }
    raise(SIGTERM);
  });
  CHECK(after.signal == SIGTERM);
  const ChildEnd ignored = run_in_child([] {
    std::signal(SIGHUP, SIG_IGN);
    const NotedInterrupts interrupts;
    raise(SIGHUP);
    if (NotedInterrupts::noted() != 0) _exit(1);
  });
  CHECK(ignored.code == 0);
}
