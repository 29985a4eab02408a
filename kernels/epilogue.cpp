#include "kernels/epilogue.h"

#include "kernels/reference/epilogue.h"
#include "kernels/simd/epilogue.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<EpilogueTable>& tables() {
  static const Tables<EpilogueTable> all{{Isa::reference, epilogue_reference()},
                                         {Isa::avx2, epilogue_avx2()},
                                         {Isa::avx512, epilogue_avx512()}};
  return all;
}

}  // namespace

const EpilogueTable* epilogue_for(Isa isa) { return tables().of(isa); }
const EpilogueTable& epilogue() { return tables().active(); }

}  // namespace sten::kernels
