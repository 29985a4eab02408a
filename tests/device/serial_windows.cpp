// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/windows/windows.h"
#include "tests/device/serial_tables.h"

namespace sten::testing {
namespace {

using W = kernels::WindowFunctions;
const W windows_table = kernels::window_functions<kernels::SerialGrid>();

}  // namespace

kernels::WindowFunctions serial_windows() {
  W all{};
  all.make_columns = with_memory<windows_table, &W::make_columns>();
  all.sum_columns = with_memory<windows_table, &W::sum_columns>();
  all.transpose = with_memory<windows_table, &W::transpose>();
  all.add_relu = with_memory<windows_table, &W::add_relu>();
  return all;
}

}  // namespace sten::testing
