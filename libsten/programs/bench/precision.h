// SPDX-License-Identifier: Apache-2.0
// Precisions of measured products and their names: float32, bf16, float16, int8.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels/block/gemm_functions.h"
#include "libsten/core/base/dtype.h"
#include "libsten/core/base/spec.h"

namespace sten {

inline constexpr DType bench_precisions[] = {DType::F32, DType::BF16, DType::F16, DType::I8};

std::string precision_name(DType precision);
// The dtype of such a name, or of f32, f16 and bfloat16. Error (usage) for others.
DType precision_from(std::string_view name);

// Whether the current ISA multiplies this dtype without widening it.
bool multiplies(DType precision);

// The precisions of --precision. Default: float32, and bfloat16 for dense weights and layouts with
// bfloat16 kernels if the processor multiplies it; a note says if it does not.
struct AskedPrecisions {
  std::vector<DType> dense{DType::F32}, layouts{DType::F32};  // dense: always with float32
  bool are_usual = false;

  AskedPrecisions(const std::vector<std::string>& names, std::vector<std::string>& notes);
  bool has_dense(DType precision) const;
  bool has(DType precision, const Spec& layout) const;
};

// Product precision of a training step on a device: float32, tf32, bf16.
struct StepPrecision {
  std::string name = "float32";
  kernels::Factors factors = kernels::Factors::float32;
};
// Parses --precision; default float32. Error (usage) for other names.
std::vector<StepPrecision> step_precisions(const std::vector<std::string>& names);

}  // namespace sten
