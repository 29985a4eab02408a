#include "kernels/panels.h"

#include "kernels/reference/panels.h"
#include "kernels/simd/panels.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

template <std::int64_t lanes>
const Tables<PanelsTable>& tables_of() {
  static const Tables<PanelsTable> all{{Isa::reference, panels_reference(lanes)},
                                       {Isa::avx2, panels_avx2(lanes)},
                                       {Isa::avx512, panels_avx512(lanes)}};
  return all;
}
const Tables<PanelsTable>& tables(std::int64_t lanes) {
  return lanes == narrow_panel_width ? tables_of<narrow_panel_width>() : tables_of<panel_width>();
}

}  // namespace

const PanelsTable* panels_for(Isa isa, std::int64_t lanes) { return tables(lanes).of(isa); }
const PanelsTable& panels(std::int64_t lanes) { return tables(lanes).active(); }

}  // namespace sten::kernels
