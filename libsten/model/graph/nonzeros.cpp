// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/nonzeros.h"

#include <algorithm>
#include <atomic>

#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/low_floats.h"

namespace sten {

double share_of_nonzeros(const Tensor& w) {
  const Dense d = widened(w).to_dense();
  const auto v = d.values.as<float>();
  if (v.empty()) return 0;
  std::atomic<Index> zeros = 0;
  parallel_for(std::ssize(v), Index{1} << 16, [&](Index begin, Index end) {
    zeros += std::count(v.begin() + begin, v.begin() + end, 0.0F);
  });
  return 1 - static_cast<double>(zeros) / static_cast<double>(v.size());
}

}  // namespace sten
