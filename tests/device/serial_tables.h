// SPDX-License-Identifier: Apache-2.0
// The kernel families of a SerialDevice (serial_backend.h), one per source file.
#pragma once
#include "kernels/cuda/backend.h"
#include "tests/device/serial_memory.h"

namespace sten::testing {

// Wraps a function of a table so that it runs with open memory.
template <auto& table, auto member, class R, class... A>
auto with_memory(R (*)(A...)) -> R (*)(A...) {
  return [](A... a) -> R {
    const SerialMemory::Open open;
    return (table.*member)(a...);
  };
}

// The wrapped function of a table, or nullptr if the table lacks it.
template <auto& table, auto member>
auto with_memory() {
  const auto f = table.*member;
  return f ? with_memory<table, member>(f) : nullptr;
}

kernels::MapFunctions serial_maps();
kernels::RowFunctions serial_rows();
kernels::GemmFunctions serial_gemm();
kernels::StepFunctions serial_steps();
kernels::WindowFunctions serial_windows();

}  // namespace sten::testing
