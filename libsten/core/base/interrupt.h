// SPDX-License-Identifier: Apache-2.0
// Interrupts that a program handles between units of work.
#pragma once

namespace sten {

// While an object lives, the first SIGINT, SIGTERM or SIGHUP is only noted, and the second has its
// previous effect. Ignored signals stay ignored. One object per process at a time.
class NotedInterrupts {
 public:
  NotedInterrupts();
  ~NotedInterrupts();
  NotedInterrupts(const NotedInterrupts&) = delete;
  NotedInterrupts& operator=(const NotedInterrupts&) = delete;

  // The signal that was noted; 0: none.
  static int noted();
};

}  // namespace sten
