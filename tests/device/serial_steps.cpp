// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/steps/steps.h"

#include "tests/device/serial_tables.h"

namespace sten::testing {
namespace {

const kernels::StepFunctions step_table = kernels::step_functions<kernels::SerialGrid>();

}  // namespace

kernels::StepFunctions serial_steps() {
  using S = kernels::StepFunctions;
  return {with_memory<step_table, &S::adamw>(),   with_memory<step_table, &S::sgd>(),
          with_memory<step_table, &S::squares>(), with_memory<step_table, &S::norm>(),
          with_memory<step_table, &S::add>(),     with_memory<step_table, &S::average>(),
          with_memory<step_table, &S::pull>(),    with_memory<step_table, &S::number>(),
          with_memory<step_table, &S::find>(),    with_memory<step_table, &S::collect>()};
}

}  // namespace sten::testing
