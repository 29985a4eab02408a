// The precisions that products are measured in, and their names: float32, bf16, float16, int8.
#pragma once
#include <string>
#include <string_view>

#include "libsten/base/dtype.h"

namespace sten {

inline constexpr DType bench_precisions[] = {DType::F32, DType::BF16, DType::F16, DType::I8};

std::string precision_name(DType precision);
// Of such a name, or of f32, f16 and bfloat16. Error (usage) for others.
DType precision_from(std::string_view name);

// Whether the instruction set in use multiplies it: those that do not compute with numbers made
// wider.
bool multiplies(DType precision);

}  // namespace sten
