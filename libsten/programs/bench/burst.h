// SPDX-License-Identifier: Apache-2.0
// Peak of the cores in a precision, for interleaved timing.
#pragma once
#include <cstdint>

#include "libsten/core/base/dtype.h"

namespace sten {

// Multiply-adds in registers on several threads for about 2 ms. If a precision has several kinds of
// instructions, uses the fastest one on this machine.
class Burst {
 public:
  Burst(DType precision, int threads);
  double flops() const { return flops_ * threads_; }
  void run() const;

 private:
  double (*kernel_)(std::int64_t rounds);
  int threads_;
  std::int64_t rounds_ = 1 << 10;
  double flops_ = 0;  // per thread
};

}  // namespace sten
