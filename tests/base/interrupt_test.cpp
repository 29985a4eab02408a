// SPDX-License-Identifier: Apache-2.0
// Interruptions: deferred and immediate.
#include "libsten/core/base/interrupt.h"

#include <doctest/doctest.h>

#include <csignal>

#include "tests/support/child.h"

using namespace sten;

TEST_CASE("NotedInterrupts records the first signal, and the second signal ends the process") {
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

TEST_CASE("after NotedInterrupts, signals end the process again; ignored signals stay ignored") {
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
