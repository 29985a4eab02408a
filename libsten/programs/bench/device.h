// SPDX-License-Identifier: Apache-2.0
// Benchmarks of conversions and products on a CUDA device, by the device's clock.
#pragma once
#include <string>

#include "libsten/programs/bench/bench_options.h"

namespace sten {

// Description of the device for reports: "NVIDIA H200, 132 processors, 139 GiB, L2 of 50 MiB".
std::string device_text();

// A row for each shape, input and layout. Form "resident": input and result are on the device;
// "copied": both are on the CPU, and copies are included. The first row of each form is a copy of
// the input, on or to the device. Ratios are relative to the copy on the device.
std::vector<BenchRow> bench_device_convert(const BenchOptions& options);

// A row for each form but chain, shape and layout, with all operands on the device. Ratios are
// relative to the dense product of the form by the device's library, without TF32.
std::vector<BenchRow> bench_device_gemm(const BenchOptions& options);

}  // namespace sten
