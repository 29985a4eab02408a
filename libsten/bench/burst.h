// The most that cores do in a precision, to be measured in turns.
#pragma once
#include <cstdint>

#include "libsten/base/dtype.h"

namespace sten {

// Multiply-adds of registers on so many threads, about 2 ms of them. Where there are several kinds of
// instructions for a precision, those that are faster here.
class Burst {
 public:
  Burst(DType precision, int threads);
  double flops() const { return flops_ * threads_; }
  void run() const;

 private:
  double (*kernel_)(std::int64_t rounds);
  int threads_;
  std::int64_t rounds_ = 1 << 10;
  double flops_ = 0;  // of one thread
};

}  // namespace sten
