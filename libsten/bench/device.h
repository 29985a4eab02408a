// Times of conversions and products on a CUDA device, by its own clock.
#pragma once
#include <string>

#include "libsten/bench/bench.h"

namespace sten {

// What a device is, for reports: "NVIDIA H200, 132 processors, 139 GiB, L2 of 50 MiB".
std::string device_text();

// A row for each shape, input and layout. Form "resident": the input is on the device, and what
// comes of it stays there; "copied": both are the CPU's, and copies count. The first row of each
// form is a copy of the input on the device, or to it; ratios are to the one on the device.
std::vector<BenchRow> bench_device_convert(const BenchOptions& options);

// A row for each form but chain, shape and layout, all operands on the device. Ratios are those to the
// dense product of the form by the device's library, without TF32.
std::vector<BenchRow> bench_device_gemm(const BenchOptions& options);

}  // namespace sten
