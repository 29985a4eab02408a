#define STEN_TARGET STEN_AVX2
#include "kernels/channels.h"
#include "kernels/simd/channels_loops.h"
#include "kernels/simd/floats8.h"

namespace sten::kernels::avx2 {
namespace {

struct Lanes : simd::Floats8 {};

}  // namespace
}  // namespace sten::kernels::avx2

namespace sten::kernels {

const ChannelsTable* channels_avx2() {
  static constexpr ChannelsTable table = simd::Channels<avx2::Lanes>::table();
  return &table;
}

}  // namespace sten::kernels
