#include "kernels/pair_attention.h"

#include "kernels/reference/pair_attention.h"
#include "kernels/simd/pair_attention.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

template <std::int64_t lanes>
const Tables<PairAttentionTable>& attention_tables_of() {
  static const Tables<PairAttentionTable> all{
      {Isa::reference, pair_attention_by_floats(Isa::reference, lanes)},
      {Isa::avx2, pair_attention_by_floats(Isa::avx2, lanes)},
      {Isa::avx512, pair_attention_by_floats(Isa::avx512, lanes)},
      {Isa::amx, pair_attention_amx(lanes)}};
  return all;
}
const Tables<PairAttentionTable>& attention_tables(std::int64_t lanes) {
  return lanes == few_width ? attention_tables_of<few_width>() : attention_tables_of<panel_width>();
}

}  // namespace

const PairAttentionTable* pair_attention_for(Isa isa, std::int64_t lanes) {
  return attention_tables(lanes).of(isa);
}
const PairAttentionTable& pair_attention(std::int64_t lanes) {
  return attention_tables(lanes).active();
}
bool has_tile_attention() { return active_isa() == Isa::amx; }

}  // namespace sten::kernels
