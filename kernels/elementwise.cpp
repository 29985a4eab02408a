#include "kernels/elementwise.h"

#include "kernels/reference/elementwise.h"
#include "kernels/simd/elementwise.h"

namespace sten::kernels {

void drain_histogram(std::uint32_t* counts, std::int32_t count, std::int64_t* totals) {
  for (std::int64_t b = 0; b < count; ++b)
    for (std::int64_t i = b * histogram_lanes; i < (b + 1) * histogram_lanes; ++i) {
      totals[b] += counts[i];
      counts[i] = 0;
    }
}

const ElementwiseTable* elementwise_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return elementwise_avx2();
    case Isa::avx512:
      return elementwise_avx512();
    default:
      return elementwise_reference();
  }
}

const ElementwiseTable& elementwise() {
  static const ElementwiseTable& table = *elementwise_for(active_isa());
  return table;
}

}  // namespace sten::kernels
