#include "kernels/bf16_attention.h"

#include "kernels/reference/bf16_attention.h"
#include "kernels/simd/bf16_attention.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

template <std::int64_t lanes>
const Tables<Bf16AttentionTable>& attention_tables_of() {
  static const Tables<Bf16AttentionTable> all{
      {Isa::reference, bf16_attention_by_floats(Isa::reference, lanes)},
      {Isa::avx2, bf16_attention_by_floats(Isa::avx2, lanes)},
      {Isa::avx512, bf16_attention_by_floats(Isa::avx512, lanes)},
      {Isa::amx, bf16_attention_amx(lanes)}};
  return all;
}
const Tables<Bf16AttentionTable>& attention_tables(std::int64_t lanes) {
  return lanes == narrow_panel_width ? attention_tables_of<narrow_panel_width>()
                                     : attention_tables_of<panel_width>();
}

}  // namespace

const Bf16AttentionTable* bf16_attention_for(Isa isa, std::int64_t lanes) {
  return attention_tables(lanes).of(isa);
}
const Bf16AttentionTable& bf16_attention(std::int64_t lanes) {
  return attention_tables(lanes).active();
}
bool has_tile_attention() { return active_isa() == Isa::amx; }

}  // namespace sten::kernels
