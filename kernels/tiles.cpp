#include "kernels/tiles.h"

#include "kernels/reference/tiles.h"
#include "kernels/simd/tiles.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<TilesTable>& tables() {
  static const Tables<TilesTable> all{{Isa::reference, tiles_reference()},
                                      {Isa::avx2, tiles_avx2()},
                                      {Isa::avx512, tiles_avx512()},
                                      {Isa::avx512_bf16, tiles_avx512_bf16()},
                                      {Isa::amx, tiles_amx()}};
  return all;
}

}  // namespace

const TilesTable* tiles_for(Isa isa) { return tables().of(isa); }
const TilesTable& tiles() { return tables().active(); }

}  // namespace sten::kernels
