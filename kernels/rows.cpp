#include "kernels/rows.h"

#include "kernels/reference/rows.h"
#include "kernels/simd/rows.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<RowsTable>& tables() {
  static const Tables<RowsTable> all{
      {Isa::reference, rows_reference()}, {Isa::avx2, rows_avx2()}, {Isa::avx512, rows_avx512()}};
  return all;
}

}  // namespace

const RowsTable* rows_for(Isa isa) { return tables().of(isa); }
const RowsTable& rows() { return tables().active(); }

}  // namespace sten::kernels
