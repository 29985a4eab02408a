#include "kernels/block/maps/maps.h"
#include "tests/device/serial_tables.h"

namespace sten::testing {
namespace {

using M = kernels::MapFunctions;
const M maps_table = kernels::map_functions<kernels::SerialGrid>();

}  // namespace

kernels::MapFunctions serial_maps() {
  M all{};
  all.add_bias = with_memory<maps_table, &M::add_bias>();
  all.sum_rows = with_memory<maps_table, &M::sum_rows>();
  return all;
}

}  // namespace sten::testing
