// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/interrupt.h"

#include <signal.h>

#include <atomic>

namespace sten {
namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction before[3];
std::atomic<int> came{0};
static_assert(std::atomic<int>::is_always_lock_free);

void restore() {
  for (int i = 0; i < 3; ++i) sigaction(signals[i], &before[i], nullptr);
}

void note(int signal) {
  if (came.exchange(signal) == 0) return;
  restore();
  raise(signal);  // delivered when this handler returns
}

}  // namespace

NotedInterrupts::NotedInterrupts() {
  came = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (int i = 0; i < 3; ++i) {
    sigaction(signals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
  }
}

NotedInterrupts::~NotedInterrupts() { restore(); }

int NotedInterrupts::noted() { return came; }

}  // namespace sten
