// SPDX-License-Identifier: Apache-2.0
// A thread that writes in the background.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace sten {

// Runs tasks in order. If threads() is 1, push() runs the tasks. No task runs after a failed one.
class WriteQueue {
 public:
  // `max_pending`: limit of the bytes that wait to be written.
  explicit WriteQueue(std::uint64_t max_pending);
  // Drops tasks that have not started.
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  // Returns once at most max_pending bytes wait. Rethrows the exception of an earlier task.
  void push(std::uint64_t bytes, std::function<void()> task);
  // Waits for all tasks; rethrows the exception of a task.
  void wait();

 private:
  struct Task {
    std::uint64_t bytes;
    std::function<void()> run;
  };
  void work();
  void wait_until(std::unique_lock<std::mutex>& hold, std::uint64_t most);

  const std::uint64_t max_pending_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::uint64_t pending_ = 0;
  std::size_t running_ = 0;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;  // none: tasks run in push()
};

}  // namespace sten
