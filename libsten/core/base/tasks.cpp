// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/tasks.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

struct Tasks {
  const std::function<void(Index)>& f;
  const Index n;
  std::mutex lock{};
  Index next = 0, failed = -1;  // under the lock
  std::exception_ptr error{};   // of task `failed`

  std::optional<Index> take() {
    const std::lock_guard hold(lock);
    if (error || next == n) return std::nullopt;
    return next++;
  }
  void run() {
    while (const std::optional<Index> i = take()) try {
        f(*i);
      } catch (...) {
        const std::lock_guard hold(lock);
        if (error && failed < *i) continue;
        failed = *i;
        error = std::current_exception();
      }
  }
};

}  // namespace

void run_tasks(Index n, const std::function<void(Index)>& f) {
  Tasks tasks{f, n};
  const Index size = std::min<Index>(threads(), n);
  std::vector<std::thread> team;
  team.reserve(static_cast<std::size_t>(std::max<Index>(1, size) - 1));
  try {
    for (Index i = 1; i < size; ++i) team.emplace_back([&tasks] { tasks.run(); });
  } catch (const std::system_error&) {  // the system creates no more threads
  }
  tasks.run();
  for (std::thread& t : team) t.join();
  if (tasks.error) std::rethrow_exception(tasks.error);
}

}  // namespace sten
