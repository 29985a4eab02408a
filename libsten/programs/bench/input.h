// SPDX-License-Identifier: Apache-2.0
// Synthetic weights of benchmarks.
#pragma once
#include <string_view>

#include "libsten/core/tensor/dense.h"

namespace sten {

inline constexpr const char* bench_inputs[] = {"normal", "student3", "laplace", "rowscaled"};

// Random F32 values, the same for the same seed: "normal" N(0, 1); "student3" Student's t with 3
// degrees of freedom; "laplace" of scale 1; "rowscaled" N(0, 1), rows times exp(0.5 N(0, 1)). Error
// (usage) for another distribution.
Dense bench_input(std::string_view distribution, const Shape& shape, std::uint64_t seed);

}  // namespace sten
