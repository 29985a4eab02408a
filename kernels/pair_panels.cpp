#include "kernels/pair_panels.h"

#include "kernels/reference/pair_panels.h"
#include "kernels/simd/pair_panels.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

template <std::int64_t lanes>
const Tables<PairPanelsTable>& pair_tables_of() {
  static const Tables<PairPanelsTable> all{{Isa::reference, pair_panels_reference(lanes)},
                                           {Isa::avx2, pair_panels_avx2(lanes)},
                                           {Isa::avx512, pair_panels_avx512(lanes)},
                                           {Isa::avx512_bf16, pair_panels_avx512_bf16(lanes)}};
  return all;
}
const Tables<PairPanelsTable>& pair_tables(std::int64_t lanes) {
  return lanes == few_width ? pair_tables_of<few_width>() : pair_tables_of<panel_width>();
}

}  // namespace

const PairPanelsTable* pair_panels_for(Isa isa, std::int64_t lanes) {
  return pair_tables(lanes).of(isa);
}
const PairPanelsTable& pair_panels(std::int64_t lanes) { return pair_tables(lanes).active(); }

}  // namespace sten::kernels
