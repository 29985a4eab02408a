// The dtypes that a sparsifier ranks, as kernels see them.
#pragma once
#include "kernels/floats.h"
#include "libsten/base/dtype.h"

namespace sten {

using kernels::FloatBits;
using kernels::FloatKind;

// Of a prunable dtype.
inline FloatKind float_kind(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return FloatKind::f64;
    case DType::F16:
      return FloatKind::f16;
    case DType::BF16:
      return FloatKind::bf16;
    case DType::F8_E4M3:
      return FloatKind::f8_e4m3;
    case DType::F8_E5M2:
      return FloatKind::f8_e5m2;
    default:
      return FloatKind::f32;
  }
}

// f(FloatBits<kind>{}) for a prunable dtype; is_prunable(t) must hold.
template <class F>
decltype(auto) with_float(DType t, F&& f) {
  return kernels::with_float(float_kind(t), f);
}

}  // namespace sten
