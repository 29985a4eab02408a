// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/write_queue.h"

#include <system_error>
#include <utility>

#include "libsten/core/base/parallel.h"

namespace sten {

WriteQueue::WriteQueue(std::uint64_t max_pending) : max_pending_(max_pending) {
  if (threads() > 1) try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {  // without a thread, every task runs in push()
    }
}

WriteQueue::~WriteQueue() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard hold(lock_);
    stop_ = true;
    tasks_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void WriteQueue::push(std::uint64_t bytes, std::function<void()> task) {
  if (!thread_.joinable()) return task();
  std::unique_lock hold(lock_);
  if (error_) std::rethrow_exception(error_);
  tasks_.push_back({bytes, std::move(task)});
  pending_ += bytes;
  changed_.notify_all();
  wait_until(hold, max_pending_);
}

void WriteQueue::wait() {
  std::unique_lock hold(lock_);
  changed_.wait(hold, [&] { return error_ || (tasks_.empty() && running_ == 0); });
  if (error_) std::rethrow_exception(error_);
}

void WriteQueue::wait_until(std::unique_lock<std::mutex>& hold, std::uint64_t most) {
  changed_.wait(hold, [&] { return error_ || pending_ <= most; });
  if (error_) std::rethrow_exception(error_);
}

void WriteQueue::work() {
  for (std::unique_lock hold(lock_);;) {
    changed_.wait(hold, [&] { return stop_ || (!tasks_.empty() && !error_); });
    if (stop_) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    running_ = 1;
    hold.unlock();
    std::exception_ptr error;
    try {
      task.run();
    } catch (...) {
      error = std::current_exception();
    }
    task.run = nullptr;  // frees the task's memory before it is counted as free
    hold.lock();
    running_ = 0;
    pending_ -= task.bytes;
    if (error) error_ = error;
    changed_.notify_all();
  }
}

}  // namespace sten
