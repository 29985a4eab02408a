// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "libsten/core/base/parallel_region.h"

namespace sten {
namespace {

thread_local bool inside_loop = false;

// The ranges of a loop, divided into a share per thread, so that a thread's cache has the data that
// it wrote in the previous loop. A thread that is done with its share helps the others.
struct Loop {
  Loop(const std::function<void(Index, Index)>& body, Index end, Index step, int team)
      : f(body),
        n(end),
        grain(step),
        pieces(ceil_div(end, step)),
        shares(std::min({Index{team}, pieces, most_shares})) {
    for (Index s = 0; s < shares; ++s) next[s].piece = end_of(s - 1);
  }

  static constexpr Index most_shares = 64;
  struct alignas(64) Next {
    std::atomic<Index> piece{0};
  };

  const std::function<void(Index, Index)>& f;
  const Index n, grain, pieces, shares;
  Next next[most_shares];
  std::mutex lock;
  std::exception_ptr error;
  std::atomic<bool> has_failed{false};

  Index end_of(Index share) const { return pieces * (share + 1) / shares; }
  void run(Index who) {
    inside_loop = true;
    for (Index k = 0; k < shares; ++k) {
      const Index share = (who + k) % shares, end = end_of(share);
      for (Index p; !has_failed && (p = next[share].piece.fetch_add(1)) < end;) {
        try {
          f(p * grain, std::min((p + 1) * grain, n));
        } catch (...) {
          const std::lock_guard hold(lock);
          if (!error) error = std::current_exception();
          has_failed = true;
        }
      }
    }
    inside_loop = false;
  }
};

std::atomic<int> lent_cores{0};

// Spins for 100 to 250 us, depending on how long a processor pauses. That is longer than waking a
// thread takes, and longer than the time between two loops of parallel operators.
template <class F>
void wait_a_little(F&& until) {
  constexpr int rounds = 8000;
  for (int i = 0; i < rounds && !until(); ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

// Workers that wait for a loop; one loop at a time. A loop does not wait for workers that wake
// after all ranges are taken, which may be late on a busy machine.
class Pool {
 public:
  // Has fewer workers if the system creates no more threads.
  explicit Pool(int workers) : spins_(workers < available_threads()) {
    workers_.reserve(workers);
    try {
      for (int i = 1; i <= workers; ++i) workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {
    }
  }
  ~Pool() {
    {
      const std::lock_guard hold(lock_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : workers_) t.join();
  }
  void run(Loop& loop) {
    const std::lock_guard one_at_a_time(entry_);
    {
      const std::lock_guard hold(lock_);
      loop_ = &loop;
      ++generation_;
    }
    wake_.notify_all();
    loop.run(0);
    if (spins_) wait_a_little([this] { return at_work_ == 0; });
    std::unique_lock hold(lock_);
    loop_ = nullptr;
    done_.wait(hold, [this] { return at_work_ == 0; });
  }

 private:
  void work(int who) {
    std::uint64_t seen = 0;
    for (std::unique_lock hold(lock_);;) {
      if (spins_ && generation_ == seen && !stop_) {
        hold.unlock();
        wait_a_little([&] { return generation_ != seen || stop_ || lent_cores > 0; });
        hold.lock();
      }
      wake_.wait(hold, [&] { return stop_ || (loop_ && generation_ != seen); });
      if (stop_) return;
      seen = generation_;
      Loop* loop = loop_;
      ++at_work_;
      hold.unlock();
      loop->run(who);
      hold.lock();
      if (--at_work_ == 0) done_.notify_one();
    }
  }

  std::mutex entry_, lock_;
  std::condition_variable wake_, done_;
  Loop* loop_ = nullptr;
  std::atomic<std::uint64_t> generation_{0};  // written under the lock
  std::atomic<int> at_work_{0};
  std::atomic<bool> stop_{false};
  const bool spins_;  // every thread has a processor of its own
  std::vector<std::thread> workers_;
};

std::mutex settings;
int wanted_threads = 0;  // 0: not set yet
std::shared_ptr<Pool> workers;
std::atomic<ParallelRegion> other_threads{nullptr};

void run_on(ParallelRegion region, Loop& loop, int team) {
  struct Entry {
    Loop& loop;
    std::atomic<Index> next{0};
  } entry{loop};
  const auto body = [](void* data) {
    Entry& e = *static_cast<Entry*>(data);
    e.loop.run(e.next.fetch_add(1));
  };
  region(body, &entry, static_cast<unsigned>(team), 0);
}

}  // namespace

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void set_threads(int n) {
  const std::lock_guard hold(settings);
  wanted_threads = std::max(1, n);
  workers.reset();
}

int threads() {
  const std::lock_guard hold(settings);
  if (wanted_threads == 0) wanted_threads = available_threads();
  return wanted_threads;
}

void set_parallel_region(ParallelRegion region) { other_threads = region; }

LentCores::LentCores(int threads) : lends_(threads > 1) {
  if (lends_) ++lent_cores;
}
LentCores::~LentCores() {
  if (lends_) --lent_cores;
}

void parallel_for(Index n, Index grain, const std::function<void(Index, Index)>& f) {
  grain = std::max<Index>(1, grain);
  const int team = threads();
  if (inside_loop || team == 1 || n <= grain) {
    for (Index begin = 0; begin < n; begin += grain) f(begin, std::min(begin + grain, n));
    return;
  }
  Loop loop(f, n, grain, team);
  if (const ParallelRegion region = other_threads) {
    run_on(region, loop, team);
  } else {
    std::shared_ptr<Pool> mine;
    {
      const std::lock_guard hold(settings);
      if (!workers) workers = std::make_shared<Pool>(team - 1);
      mine = workers;
    }
    mine->run(loop);
  }
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace sten
