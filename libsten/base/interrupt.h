// Interruptions that wait until work is at a good place.
#pragma once

namespace sten {

// While one lives, the first SIGINT, SIGTERM or SIGHUP is only noted, and the next one does what it
// did before. Signals that were ignored stay so. One at a time in a process.
class NotedInterrupts {
 public:
  NotedInterrupts();
  ~NotedInterrupts();
  NotedInterrupts(const NotedInterrupts&) = delete;
  NotedInterrupts& operator=(const NotedInterrupts&) = delete;

  // The signal that came; 0: none.
  static int noted();
};

}  // namespace sten
