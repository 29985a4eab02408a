// The reference kernels of kernels/rows.h.
#pragma once
#include "kernels/rows.h"

namespace sten::kernels {

const RowsTable* rows_reference();

}  // namespace sten::kernels
