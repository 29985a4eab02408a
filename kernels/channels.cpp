#include "kernels/channels.h"

#include "kernels/reference/channels.h"
#include "kernels/simd/channels.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<ChannelsTable>& tables() {
  static const Tables<ChannelsTable> all{{Isa::reference, channels_reference()},
                                         {Isa::avx2, channels_avx2()},
                                         {Isa::avx512, channels_avx512()}};
  return all;
}

}  // namespace

const ChannelsTable* channels_for(Isa isa) { return tables().of(isa); }
const ChannelsTable& channels() { return tables().active(); }

}  // namespace sten::kernels
