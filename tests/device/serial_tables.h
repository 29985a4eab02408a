// Tables of functions of a SerialDevice (serial_backend.h), each of a file of its own.
#pragma once
#include "kernels/cuda/backend.h"
#include "tests/device/serial_memory.h"

namespace sten::testing {

// A function of a table, which finds the memory open.
template <auto& table, auto member, class R, class... A>
auto with_memory(R (*)(A...)) -> R (*)(A...) {
  return [](A... a) -> R {
    const SerialMemory::Open open;
    return (table.*member)(a...);
  };
}

// A function of a table; nullptr where it has none.
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
