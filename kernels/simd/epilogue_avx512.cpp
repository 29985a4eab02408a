#define STEN_TARGET STEN_AVX512
#include "kernels/simd/epilogue.h"
#include "kernels/simd/epilogue_loops.h"

namespace sten::kernels::avx512 {
namespace {
struct Own;
}
}  // namespace sten::kernels::avx512

namespace sten::kernels {

const EpilogueTable* epilogue_avx512() {
  static constexpr EpilogueTable table = simd::Epilogues<avx512::Own>::table();
  return &table;
}

}  // namespace sten::kernels
