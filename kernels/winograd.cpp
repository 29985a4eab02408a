#include "kernels/winograd.h"

#include "kernels/reference/winograd.h"
#include "kernels/simd/winograd.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<WinogradTable>& tables() {
  static const Tables<WinogradTable> all{{Isa::reference, winograd_reference()},
                                         {Isa::avx2, winograd_avx2()},
                                         {Isa::avx512, winograd_avx512()}};
  return all;
}

}  // namespace

const WinogradTable* winograd_for(Isa isa) { return tables().of(isa); }
const WinogradTable& winograd() { return tables().active(); }

}  // namespace sten::kernels
