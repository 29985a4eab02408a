// The precisions that products are measured in, and their names: float32, bf16, float16, int8.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels/block/gemm_functions.h"
#include "libsten/base/dtype.h"
#include "libsten/base/spec.h"

namespace sten {

inline constexpr DType bench_precisions[] = {DType::F32, DType::BF16, DType::F16, DType::I8};

std::string precision_name(DType precision);
// Of such a name, or of f32, f16 and bfloat16. Error (usage) for others.
DType precision_from(std::string_view name);

// Whether the instruction set in use multiplies it: those that do not compute with numbers made
// wider.
bool multiplies(DType precision);

// Those of --precision; by default float32, and where the processor multiplies bfloat16 that of dense
// weights and of what is made for it. A note says where it does not.
struct AskedPrecisions {
  std::vector<DType> dense{DType::F32}, layouts{DType::F32};  // of dense ones float32 in any case
  bool are_usual = false;

  AskedPrecisions(const std::vector<std::string>& names, std::vector<std::string>& notes);
  bool has_dense(DType precision) const;
  bool has(DType precision, const Spec& layout) const;
};

// What the factors of dense products of a step on a device may be rounded to: float32, tf32, bf16.
struct StepPrecision {
  std::string name = "float32";
  kernels::Factors factors = kernels::Factors::float32;
};
// Of --precision; none: float32. Error (usage) for other names.
std::vector<StepPrecision> step_precisions(const std::vector<std::string>& names);

}  // namespace sten
