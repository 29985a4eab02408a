#include "kernels/elementwise.h"

#include "kernels/reference/elementwise.h"
#include "kernels/simd/elementwise.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<ElementwiseTable>& tables() {
  static const Tables<ElementwiseTable> all{{Isa::reference, elementwise_reference()},
                                            {Isa::avx2, elementwise_avx2()},
                                            {Isa::avx512, elementwise_avx512()},
                                            {Isa::avx512, elementwise_avx512_vbmi2()}};
  return all;
}

}  // namespace

void drain_histogram(std::uint32_t* counts, std::int32_t count, std::int64_t* totals) {
  for (std::int64_t b = 0; b < count; ++b)
    for (std::int64_t i = b * histogram_lanes; i < (b + 1) * histogram_lanes; ++i) {
      totals[b] += counts[i];
      counts[i] = 0;
    }
}

const ElementwiseTable* elementwise_for(Isa isa) { return tables().of(isa); }
const ElementwiseTable& elementwise() { return tables().active(); }

}  // namespace sten::kernels
