#include "kernels/rows.h"

#include "kernels/reference/rows.h"
#include "kernels/simd/rows.h"

namespace sten::kernels {

const RowsTable* rows_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return rows_avx2();
    case Isa::avx512:
      return rows_avx512();
    default:
      return rows_reference();
  }
}

const RowsTable& rows() {
  static const RowsTable& table = *rows_for(active_isa());
  return table;
}

}  // namespace sten::kernels
