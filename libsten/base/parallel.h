// Threads of the process: how many, and a loop over them.
#pragma once
#include <functional>

#include "libsten/base/shape.h"

namespace sten {

// Processors this process may run on (its affinity mask, not the machine's count).
int available_threads();
// At least 1. The default is available_threads().
void set_threads(int n);
int threads();

// f(begin, end) over [0, n) in pieces that start at multiples of `grain`, on up to threads()
// threads, the caller's among them. Which thread takes which piece is not determined: f must write
// only what its own range owns. The first exception is rethrown here. A call from inside f runs
// on the calling thread alone.
void parallel_for(Index n, Index grain, const std::function<void(Index, Index)>& f);

// While it lives, threads that wait for the next loop sleep, and a library that has `threads` of its
// own finds the processors free.
class LentCores {
 public:
  explicit LentCores(int threads);
  ~LentCores();
  LentCores(const LentCores&) = delete;
  LentCores& operator=(const LentCores&) = delete;

 private:
  bool lends_;
};

}  // namespace sten
