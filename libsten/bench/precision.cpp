#include "libsten/bench/precision.h"

#include "kernels/isa.h"
#include "libsten/base/error.h"
#include "libsten/base/text.h"

namespace sten {

std::string precision_name(DType precision) {
  switch (precision) {
    case DType::BF16:
      return "bf16";
    case DType::F16:
      return "float16";
    case DType::I8:
      return "int8";
    default:
      return "float32";
  }
}

DType precision_from(std::string_view name) {
  for (const DType t : bench_precisions)
    if (name == precision_name(t)) return t;
  if (name == "f32") return DType::F32;
  if (name == "f16") return DType::F16;
  if (name == "bfloat16") return DType::BF16;
  fail_usage("--precision {} is none of float32, bf16, float16 and int8{}", quote(name),
             suggestion(name, {"float32", "bf16", "float16", "int8"}));
}

bool multiplies(DType precision) {
  const kernels::Isa isa = kernels::active_isa();
  if (precision == DType::BF16) return isa >= kernels::Isa::avx512_bf16;
  if (precision == DType::I8) return isa >= kernels::Isa::amx;
  return precision == DType::F32;
}

}  // namespace sten
