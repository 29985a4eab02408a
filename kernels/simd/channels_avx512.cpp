#define STEN_TARGET STEN_AVX512
#include "kernels/channels.h"
#include "kernels/simd/channels_loops.h"
#include "kernels/simd/floats16.h"

namespace sten::kernels::avx512 {
namespace {

struct Lanes : simd::Floats16 {};

}  // namespace
}  // namespace sten::kernels::avx512

namespace sten::kernels {

const ChannelsTable* channels_avx512() {
  static constexpr ChannelsTable table = simd::Channels<avx512::Lanes>::table();
  return &table;
}

}  // namespace sten::kernels
