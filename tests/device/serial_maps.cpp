// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/maps/maps.h"
#include "tests/device/serial_tables.h"

namespace sten::testing {
namespace {

using M = kernels::MapFunctions;
const M maps_table = kernels::map_functions<kernels::SerialGrid>();

}  // namespace

kernels::MapFunctions serial_maps() {
  return {with_memory<maps_table, &M::add_bias>(), with_memory<maps_table, &M::sum_rows>(),
          with_memory<maps_table, &M::sum>(),      with_memory<maps_table, &M::map>(),
          with_memory<maps_table, &M::map_grad>(), with_memory<maps_table, &M::drop>(),
          with_memory<maps_table, &M::binary>(),   with_memory<maps_table, &M::binary_grad>(),
          with_memory<maps_table, &M::compare>(),  with_memory<maps_table, &M::test_one>(),
          with_memory<maps_table, &M::choose>(),   with_memory<maps_table, &M::keep_chosen>(),
          with_memory<maps_table, &M::move>(),     with_memory<maps_table, &M::cast>()};
}

}  // namespace sten::testing
