#include "kernels/interleaved_panels.h"

#include "kernels/reference/interleaved_panels.h"
#include "kernels/simd/interleaved_panels.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

template <std::int64_t lanes>
const Tables<InterleavedPanelsTable>& interleaved_tables_of() {
  static const Tables<InterleavedPanelsTable> all{
      {Isa::reference, interleaved_panels_reference(lanes)},
      {Isa::avx2, interleaved_panels_avx2(lanes)},
      {Isa::avx512, interleaved_panels_avx512(lanes)},
      {Isa::avx512_bf16, interleaved_panels_avx512_bf16(lanes)}};
  return all;
}
const Tables<InterleavedPanelsTable>& interleaved_tables(std::int64_t lanes) {
  return lanes == narrow_panel_width ? interleaved_tables_of<narrow_panel_width>()
                                     : interleaved_tables_of<panel_width>();
}

}  // namespace

const InterleavedPanelsTable* interleaved_panels_for(Isa isa, std::int64_t lanes) {
  return interleaved_tables(lanes).of(isa);
}
const InterleavedPanelsTable& interleaved_panels(std::int64_t lanes) {
  return interleaved_tables(lanes).active();
}

}  // namespace sten::kernels
