// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/gemm/gemm.h"
#include "kernels/block/gemm/plain_gemm.h"
#include "tests/device/serial_tables.h"

namespace sten::testing {
namespace {

const kernels::GemmFunctions gemm_table =
    kernels::gemm_functions<kernels::SerialGrid>(kernels::plain_dense_product);

}  // namespace

kernels::GemmFunctions serial_gemm() {
  using G = kernels::GemmFunctions;
  return {with_memory<gemm_table, &G::dense>(), with_memory<gemm_table, &G::csr_lists>(),
          with_memory<gemm_table, &G::nmg_lists>(), with_memory<gemm_table, &G::list_product>(),
          with_memory<gemm_table, &G::list_samples>()};
}

}  // namespace sten::testing
