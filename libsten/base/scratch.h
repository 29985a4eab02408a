// Memory that kernels work in.
#pragma once
#include <memory>
#include <new>

#include "libsten/base/shape.h"

namespace sten {

// Aligned floats that are kept from call to call: memory that is new each time costs more than
// small products do.
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

// Asks the second cache for a line. A function that does nothing else is nothing to g++, which
// drops calls of it; the empty instruction keeps them.
inline void fetch_line(const void* at) {
  __builtin_prefetch(at, 0, 2);
  asm volatile("");
}

}  // namespace sten
