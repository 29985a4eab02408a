// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/nonzeros.h"

#include <atomic>

#include "libsten/core/base/floats.h"
#include "libsten/core/base/parallel.h"

namespace sten {

double share_of_nonzeros(const Tensor& w) {
  const Dense d = w.to_dense();
  if (d.size() == 0) return 0;
  std::atomic<Index> nonzeros = 0;
  with_float(d.dtype(), [&]<class E>(E) {
    const auto bits = d.values.as<typename E::Bits>();
    parallel_for(d.size(), Index{1} << 16, [&](Index begin, Index end) {
      Index n = 0;
      // All bits but the sign are 0 only in zeros.
      for (Index i = begin; i < end; ++i)
        n += static_cast<typename E::Bits>(bits[i] << 1) != typename E::Bits{0};
      nonzeros += n;
    });
  });
  return static_cast<double>(nonzeros) / static_cast<double>(d.size());
}

}  // namespace sten
