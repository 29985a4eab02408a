// SPDX-License-Identifier: Apache-2.0
// Scratch memory of kernels.
#pragma once
#include <memory>
#include <new>

#include "libsten/core/base/shape.h"

namespace sten {

// Aligned floats that are cached between calls: a new allocation costs more than a small product.
class Scratch {
 public:
  float* of(Index size) {
    if (size > size_) {
      size_ = 0;
      memory_.reset();
      memory_.reset(static_cast<float*>(::operator new[](size * sizeof(float), alignment)));
      size_ = size;
    }
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Delete {
    void operator()(float* p) const { ::operator delete[](p, alignment); }
  };
  std::unique_ptr<float[], Delete> memory_;
  Index size_ = 0;
};

// Prefetches a cache line to L2. Without the empty asm statement, g++ would treat the function as
// free of effects and drop its calls.
inline void fetch_line(const void* at) {
  __builtin_prefetch(at, 0, 2);
  asm volatile("");
}

}  // namespace sten
