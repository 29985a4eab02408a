// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/burst.h"

#include "kernels/peak.h"
#include "libsten/core/base/parallel.h"
#include "libsten/programs/bench/timing.h"

namespace sten {

Burst::Burst(DType precision, int threads) : threads_(threads) {
  const kernels::PeakTable& table = kernels::peak();
  kernel_ = table.run_fmas;
  const auto low = precision == DType::BF16 ? table.run_bf16
                   : precision == DType::I8 ? table.run_int8
                                            : kernel_;
  // On some processors, bfloat16 vector instructions are slower than float32.
  const auto reached = [](double (*kernel)(std::int64_t)) {
    double flops = 0;
    const double seconds = seconds_of([&] { flops = kernel(1 << 15); }, 1);
    return flops / seconds;
  };
  if (low != kernel_ && reached(low) > reached(kernel_)) kernel_ = low;
  while (seconds_of([&] { flops_ = kernel_(rounds_); }, 1) < 2e-3) rounds_ *= 2;
}

void Burst::run() const {
  parallel_for(threads_, 1, [this](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) kernel_(rounds_);
  });
}

}  // namespace sten
