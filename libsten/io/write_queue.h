// A thread that writes while the others compute.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace sten {

// Runs tasks one after the other, in the order they came. With one thread in all (threads()), or
// after a task failed, nothing runs beside the caller.
class WriteQueue {
 public:
  // `max_pending`: bytes that wait to be written while the caller computes on.
  explicit WriteQueue(std::uint64_t max_pending);
  // Tasks that have not begun are dropped.
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  // Returns once no more than max_pending bytes wait. Throws what an earlier task threw.
  void push(std::uint64_t bytes, std::function<void()> task);
  // Until all is done; throws what a task threw.
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
