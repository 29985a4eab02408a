// SPDX-License-Identifier: Apache-2.0
// Threads of the process and the parallel loop.
#pragma once
#include <functional>

#include "libsten/core/base/shape.h"

namespace sten {

// Number of processors in the process's affinity mask.
int available_threads();
// Sets the number of threads, at least 1 (default: available_threads()).
void set_threads(int n);
int threads();

// Calls f(begin, end) for ranges of [0, n) that start at multiples of `grain`, on up to threads()
// threads including the caller. The assignment of ranges to threads is not deterministic: f must
// write only to data of its own range. Rethrows the first exception. A call within f runs on the
// calling thread only.
void parallel_for(Index n, Index grain, const std::function<void(Index, Index)>& f);

// While an object lives, threads that wait for the next loop sleep, so that the processors are free
// for a library with `threads` threads of its own.
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
