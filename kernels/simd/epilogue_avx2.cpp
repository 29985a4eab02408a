#define STEN_TARGET STEN_AVX2
#include "kernels/simd/epilogue.h"
#include "kernels/simd/epilogue_loops.h"

namespace sten::kernels::avx2 {
namespace {
struct Own;
}
}  // namespace sten::kernels::avx2

namespace sten::kernels {

const EpilogueTable* epilogue_avx2() {
  static constexpr EpilogueTable table = simd::Epilogues<avx2::Own>::table();
  return &table;
}

}  // namespace sten::kernels
